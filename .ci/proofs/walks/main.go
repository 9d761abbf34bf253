// Walks types the walks of a page of documentation, and is a stand-in for the engine of one of them.
//
//	walks type PAGE WALK CLONE   applies the diffs and types the commands of a walk
//	walks serve ADDRESS          answers as the made-up engine Lantern
//
// The folder of a clone is of a clean checkout. Exit code 1: a step failed, in one line on standard error.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	err := fmt.Errorf("usage: walks type PAGE WALK CLONE, or walks serve ADDRESS")
	switch args := os.Args[1:]; {
	case len(args) == 4 && args[0] == "type":
		err = typeWalk(args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "serve":
		err = serve(args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "walks:", err)
		os.Exit(1)
	}
}

// typeWalk does all steps of a walk.
func typeWalk(page, name, folder string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	walks, err := parsePage(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	i := slices.IndexFunc(walks, func(w walk) bool { return w.name == name })
	if i < 0 {
		return fmt.Errorf("%s: no walk %s", page, name)
	}
	c := clone{folder: folder, log: folder + ".log"}
	if err := c.apply(walks[i]); err != nil {
		return fmt.Errorf("%s: walk %s: %w", page, name, err)
	}
	for _, s := range walks[i].steps {
		if s.command == "" {
			continue
		}
		fmt.Printf("%s$ %s\n", name, s.command)
		if err := c.run(s); err != nil {
			return fmt.Errorf("%s:%d: walk %s: %w", page, s.line, name, err)
		}
	}
	fmt.Printf("%s: %d files: %s\n", name, len(walks[i].files), strings.Join(walks[i].files, " "))
	return nil
}
