"""Translate the texts of the stage: messages with named values, and the catalogues of the languages.

The texts in the code are English. Each is a whole message, whose values are names, numbers and other messages. A
recording stores its sentences as messages, so that it can be shown in every language. This package is the lowest layer:
it imports nothing else of ``memory_stage``.
"""

from memory_stage.messages.catalogues import (
    ENGLISH,
    Language,
    add_catalogues,
    default_language,
    language,
    set_language,
    speaking,
)
from memory_stage.messages.message import (
    Joined,
    Message,
    Text,
    capitalized,
    continued,
    in_context,
    joined,
    listed,
    message,
    plural,
    render,
    said,
    sentences,
    then,
)
from memory_stage.messages.wrapping import aligned, columns, padded, wrapped
