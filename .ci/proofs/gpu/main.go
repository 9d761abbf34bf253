// Command gpu belongs to the proof on a real GPU: it writes the model that llama.cpp serves there, and judges what
// umascope measured by llama.cpp's own log and counters and by nvidia-smi.
//
//	gpu model FILE [--small]   write a Llama of random weights as GGUF
//	gpu judge FOLDER           print the table of figures; exit code 1 if one is out of its bound, 77 without a GPU
package main

import (
	"errors"
	"fmt"
	"os"
)

var errUsage = errors.New("usage: gpu model FILE [--small] | gpu judge FOLDER")

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	switch {
	case len(args) >= 2 && args[0] == "model":
		size := large
		if len(args) == 3 && args[2] == "--small" {
			size = small
		} else if len(args) != 2 {
			return 2, errUsage
		}
		if err := writeModel(args[1], size); err != nil {
			return 1, err
		}
		return 0, nil
	case len(args) == 2 && args[0] == "judge":
		rows, err := judge(os.DirFS(args[1]))
		if err != nil {
			return 1, err
		}
		fmt.Print(table(rows))
		return exitCode(rows), nil
	}
	return 2, errUsage
}
