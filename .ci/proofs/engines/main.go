// Engines writes the models that servers get in proofs: Llamas of random weights.
//
//	engines model FOLDER [SIZE]    a folder with configuration and tokenizer, no weights
//	engines gguf FILE [SIZE]       a file for llama.cpp and Ollama
//
// SIZE is medium, small, large or huge; without one the model is tiny.
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
	write := map[string]func(string, sizes, tokenizer) error{"model": writeModel, "gguf": writeGGUF}
	size := tiny
	if len(args) == 3 {
		size = bySize[args[2]]
	}
	if len(args) < 2 || len(args) > 3 || write[args[0]] == nil || size.width == 0 {
		return errors.New("want model FOLDER or gguf FILE, and for another size than tiny medium, small, large or huge")
	}
	return write[args[0]](args[1], size, newTokenizer())
}
