// Engines writes the models that servers get in proofs: Llamas of random weights, whose tokenizer is learned from a text.
//
//	engines model FOLDER TEXT                    a folder with configuration and tokenizer, no weights
//	engines gguf FILE TEXT [tiny|small|large]    a file for llama.cpp and Ollama
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
	if len(args) < 3 {
		return errors.New("want model FOLDER TEXT or gguf FILE TEXT [tiny|small|large]")
	}
	text, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	size := tiny
	switch {
	case len(args) == 4 && args[3] == "large":
		size = large
	case len(args) == 4 && args[3] == "small":
		size = small
	}
	if args[0] == "model" {
		return writeModel(args[1], size, learn(string(text)))
	}
	return writeGGUF(args[1], size, learn(string(text)))
}
