// Engines writes the models that servers get in proofs: Llamas of random weights.
//
//	engines model FOLDER         a folder with configuration and tokenizer, no weights
//	engines gguf FILE [SIZE]     a file for llama.cpp and Ollama: tiny (the default), small, large or huge
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 && args[0] == "model" {
		return writeModel(args[1], tiny, newTokenizer())
	}
	if len(args) == 2 && args[0] == "gguf" {
		args = append(args, "tiny")
	}
	if len(args) == 3 && args[0] == "gguf" {
		if size, known := sizesOf(args[2]); known {
			return writeGGUF(args[1], size, newTokenizer())
		}
	}
	return errors.New("want model FOLDER or gguf FILE [tiny|small|large|huge]")
}
