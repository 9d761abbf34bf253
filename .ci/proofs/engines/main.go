// Engines writes the models that servers get in proofs: Llamas of random weights.
//
//	engines model FOLDER         a folder with configuration and tokenizer, no weights
//	engines gguf FILE [small|large|huge]    a file for llama.cpp and Ollama; without a size a tiny one
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
	if len(args) == 3 && args[0] == "gguf" && bySize[args[2]].width > 0 {
		return writeGGUF(args[1], bySize[args[2]], newTokenizer())
	}
	if len(args) == 2 && args[0] == "gguf" {
		return writeGGUF(args[1], tiny, newTokenizer())
	}
	return errors.New("want model FOLDER or gguf FILE [small|large|huge]")
}
