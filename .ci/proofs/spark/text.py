"""Writes what llama-benchy would fetch: a tokenizer, and its book, of words that the simulated engine counts as one token."""

import hashlib
import itertools
import pathlib
import random

from tokenizers import Tokenizer, models, pre_tokenizers

BOOK = "https://www.gutenberg.org/files/1661/1661-0.txt"
words = ["".join(letters) for letters in itertools.product("abcdefghijklmn", repeat=3)]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*words, "[UNK]", "."])}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.save("tokenizer.json")
draw = random.Random(1)
book = pathlib.Path.home() / ".cache/llama-benchy" / (hashlib.md5(BOOK.encode()).hexdigest() + ".txt")
book.parent.mkdir(parents=True)
book.write_text(" ".join(draw.choice(words) for _ in range(60000)))
