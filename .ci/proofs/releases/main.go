// Command releases compares the metric names that this project reads with those in the newest wheels of the engines.
//
//	go run ./.ci/proofs/releases [--write]
//
// It prints names that are read here and gone from the newest release, and new names that are neither read nor listed in
// names.tsv. Its exit code is 1 if a name in names.tsv that is read went away, or a new name came. With --write it writes
// names.tsv. A name that is not read needs a reason in unread.tsv. Only the files with names are downloaded, by ranges of the wheel.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// States of a name in the table.
const (
	stateRead   = "read"   // and in the newest release
	stateAbsent = "absent" // read, for releases before the newest, or after it
	stateUnread = "unread" // in the newest release
)

// name is a row of the table.
type name struct{ project, text string }

func main() {
	write := flag.Bool("write", false, "write the table names.tsv")
	folder := flag.String("folder", ".ci/proofs/releases", "folder of names.tsv")
	vocabulary := flag.String("vocabulary", "exporter", "folder with the packages that have the names that are read")
	flag.Parse()
	if err := run(*folder+"/names.tsv", *vocabulary, *write); err != nil {
		fmt.Fprintln(os.Stderr, "releases:", err)
		os.Exit(1)
	}
}

func run(file, vocabulary string, write bool) error {
	read, err := namesRead(vocabulary)
	if err != nil {
		return err
	}
	before, err := readTable(file)
	if err != nil && !write {
		return err
	}
	after, versions := map[name]string{}, []string{}
	for _, p := range projects() {
		written := map[string]bool{}
		for _, pkg := range p.packages {
			w, err := newestWheel(pkg)
			if err != nil {
				return fmt.Errorf("%s: %w", pkg, err)
			}
			versions = append(versions, pkg+" "+w.version)
			if err := w.names(p, written); err != nil {
				return fmt.Errorf("%s %s: %w", pkg, w.version, err)
			}
		}
		if len(written) == 0 {
			return fmt.Errorf("%s: no name was found in the newest release, so the search is wrong", p.name)
		}
		p.compare(read, written, after)
	}
	reasons, err := readReasons(filepath.Join(filepath.Dir(file), "unread.tsv"))
	if err != nil {
		return err
	}
	if err := reasons.judge(after); err != nil {
		return err
	}
	if write {
		return writeTable(file, versions, after)
	}
	return report(versions, before, after)
}

// compare adds the rows of a project: written has the names in its newest release, read all names read here.
func (p project) compare(read []string, written map[string]bool, rows map[name]string) {
	seen := map[string]bool{}
	for _, full := range read {
		if !p.owns(full) {
			continue
		}
		text := p.bare(full)
		seen[text] = true
		rows[name{p.name, text}] = stateAbsent
		if written[text] {
			rows[name{p.name, text}] = stateRead
		}
	}
	for text := range written {
		if !seen[text] {
			rows[name{p.name, text}] = stateUnread
		}
	}
}

// report prints what differs from the table, and fails if something does that needs a decision.
func report(versions []string, before, after map[name]string) error {
	fmt.Println("newest releases: " + strings.Join(versions, ", "))
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	counts, changed := map[string]int{}, 0
	for _, n := range sorted(after) {
		counts[after[n]]++
		switch was, known := before[n]; {
		case !known && after[n] == stateUnread:
			fmt.Fprintf(out, "%s\t%s\tnew, not read\n", n.project, n.text)
		case known && was == stateRead && after[n] == stateAbsent:
			fmt.Fprintf(out, "%s\t%s\tread here, gone from the newest release\n", n.project, n.text)
		case was != after[n]:
			fmt.Fprintf(out, "%s\t%s\t%s, was %q\n", n.project, n.text, after[n], was)
		default:
			continue
		}
		changed++
	}
	for _, n := range sorted(before) {
		if _, still := after[n]; !still {
			fmt.Fprintf(out, "%s\t%s\tgone, was %s\n", n.project, n.text, before[n])
			changed++
		}
	}
	out.Flush()
	fmt.Printf("%d names read, %d read but absent from them, %d not read\n", counts[stateRead], counts[stateAbsent], counts[stateUnread])
	if changed > 0 {
		return fmt.Errorf("%d names differ from names.tsv: read them or not, then run it with --write", changed)
	}
	return nil
}

func sorted(rows map[name]string) []name {
	return slices.SortedFunc(maps.Keys(rows), func(a, b name) int {
		return strings.Compare(a.project+"\t"+a.text, b.project+"\t"+b.text)
	})
}

func writeTable(file string, versions []string, rows map[name]string) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# Metric names of engines: read here, read for older releases, not read. Written by .ci/proofs/releases.\n# %s\n", strings.Join(versions, ", "))
	for _, n := range sorted(rows) {
		fmt.Fprintf(&text, "%s\t%s\t%s\n", n.project, n.text, rows[n])
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

func readTable(file string) (map[name]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows := map[name]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			return nil, fmt.Errorf("%s: a line has %d cells instead of 3: %q", file, len(cells), line)
		}
		rows[name{cells[0], cells[1]}] = cells[2]
	}
	return rows, nil
}
