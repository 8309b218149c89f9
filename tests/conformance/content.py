"""What the conformance suite wants to read: pictures, sound, resources and prompts."""

import json

import mcp_types as types

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5E"
    "rkJggg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
TEMPLATE = "test://template/{id}/data"

RESOURCES = {
    "test://static-text": types.Resource(
        uri="test://static-text", name="static text", mime_type="text/plain"
    ),
    "test://static-binary": types.Resource(
        uri="test://static-binary", name="static binary", mime_type="image/png"
    ),
    "test://watched-resource": types.Resource(
        uri="test://watched-resource", name="watched", mime_type="text/plain"
    ),
}

PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


def text(words: str) -> types.TextContent:
    """A block of text."""
    return types.TextContent(text=words)


def picture() -> types.ImageContent:
    """One pixel."""
    return types.ImageContent(data=PNG, mime_type="image/png")


def sound() -> types.AudioContent:
    """One sample of silence."""
    return types.AudioContent(data=WAV, mime_type="audio/wav")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    """A resource inside a message."""
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, text=words, mime_type=mime_type)
    )


def read(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """What a resource holds, or nothing where there is none."""
    before, after = TEMPLATE.split("{id}")
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, blob=PNG, mime_type="image/png")
    if uri in RESOURCES:
        words = f"This is the content of the {RESOURCES[uri].name} resource."
        return types.TextResourceContents(uri=uri, text=words, mime_type="text/plain")
    if uri.startswith(before) and uri.endswith(after):
        key = uri.removeprefix(before).removesuffix(after)
        words = json.dumps({"id": key, "templateTest": True, "data": f"Data for ID: {key}"})
        return types.TextResourceContents(uri=uri, text=words, mime_type="application/json")
    return None


def prompt(name: str, arguments: dict[str, str]) -> list[types.PromptMessage]:
    """The messages of a prompt; KeyError where an argument is missing."""
    blocks: list[types.ContentBlock]
    if name == "test_prompt_with_arguments":
        one, two = arguments["arg1"], arguments["arg2"]
        blocks = [text(f"Prompt with arguments: arg1='{one}', arg2='{two}'")]
    elif name == "test_prompt_with_embedded_resource":
        uri = arguments["resourceUri"]
        blocks = [embedded(uri, "Embedded resource content for testing.")]
        blocks += [text("Please process the embedded resource above.")]
    elif name == "test_prompt_with_image":
        blocks = [picture(), text("Please analyze the image above.")]
    else:
        blocks = [text("This is a simple prompt for testing.")]
    return [types.PromptMessage(role="user", content=block) for block in blocks]
