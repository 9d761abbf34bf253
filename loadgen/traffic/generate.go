package traffic

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the generator.
const (
	maxGeneratorBytes = 1 << 20
	maxTextFiles      = 256
	maxCorpusBytes    = 256 << 20 // of all text files together
)

// request precedes the text of each turn. Its wording differs from vLLM's; its purpose is the same.
const request = "Rewrite the following text at length and add to it: "

// generator makes conversations from text files.
type generator struct {
	folder string // relative paths start here: the folder of the file itself
	seed   uint64
}

// generatorFile is the file of vLLM's multi-turn generator
// (benchmarks/multi_turn/generate_multi_turn.json).
type generatorFile struct {
	FileType      string   `json:"filetype"`
	Conversations int      `json:"num_conversations"`
	TextFiles     []string `json:"text_files"`
	PrintStats    bool     `json:"print_stats"`
	Input         struct {
		Turns        *distribution `json:"num_turns"`
		CommonPrefix *distribution `json:"common_prefix_num_tokens"`
		Prefix       *distribution `json:"prefix_num_tokens"`
		Tokens       *distribution `json:"num_tokens"`
	} `json:"prompt_input"`
	Output struct {
		Tokens *distribution `json:"num_tokens"`
	} `json:"prompt_output"`
}

// isGenerator reports whether the next object is the generator's file, not the first of many rows. It looks as far as
// the reader's buffer goes, without consuming it.
func isGenerator(r *bufio.Reader) bool {
	start, _ := r.Peek(r.Size())
	decoder := json.NewDecoder(strings.NewReader(string(start)))
	if _, err := decoder.Token(); err != nil {
		return false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false
		}
		if key == "filetype" {
			return true
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return false
		}
	}
	return false
}

// generate reads the generator's file and makes its conversations.
func (f *PromptFile) generate(r io.Reader, g generator) error {
	f.Format = formatGenerate
	var config generatorFile
	data, err := io.ReadAll(io.LimitReader(r, maxGeneratorBytes+1))
	if err != nil {
		return err
	}
	if len(data) > maxGeneratorBytes {
		return fmt.Errorf("longer than %d MiB", maxGeneratorBytes>>20)
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return err
	}
	if err := config.check(); err != nil {
		return err
	}
	source, err := g.corpus(config.TextFiles)
	if err != nil {
		return err
	}
	w := writer{source: source, scale: f.scale}
	common := 0
	if d := config.Input.CommonPrefix; d != nil {
		common = d.draw(NewRandom(g.seed, "/common", 0), 0)
	}
	shared := ""
	if common > 0 {
		shared = w.take(common) + "\n\n"
	}
	for i := range config.Conversations {
		if err := f.add(w.conversation(config, g.seed, i, shared)); err != nil {
			return err
		}
	}
	return nil
}

func (c generatorFile) check() error {
	switch {
	case c.FileType != formatGenerate:
		return fmt.Errorf("filetype %.40q is not %q", c.FileType, formatGenerate)
	case c.Conversations < 1 || c.Conversations > maxConversations:
		return fmt.Errorf("num_conversations %d is not from 1 to %d", c.Conversations, maxConversations)
	case len(c.TextFiles) == 0 || len(c.TextFiles) > maxTextFiles:
		return fmt.Errorf("%d text_files, want 1 to %d", len(c.TextFiles), maxTextFiles)
	case c.Input.Turns == nil || c.Input.Prefix == nil || c.Input.Tokens == nil:
		return errors.New("prompt_input: num_turns, prefix_num_tokens or num_tokens is missing")
	case c.Output.Tokens == nil:
		return errors.New("prompt_output: num_tokens is missing")
	}
	return nil
}

// corpus reads the text files and joins them.
func (g generator) corpus(names []string) (string, error) {
	var all strings.Builder
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.folder, name)
		}
		if err := appendFile(&all, path); err != nil {
			return "", fmt.Errorf("text_files: %s: %w", name, err)
		}
		all.WriteByte('\n')
	}
	return all.String(), nil
}

func appendFile(to *strings.Builder, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return withoutPath(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(maxCorpusBytes-to.Len()+1)))
	switch {
	case err != nil:
		return withoutPath(err)
	case to.Len()+len(text) > maxCorpusBytes:
		return fmt.Errorf("the text files have more than %d MiB", maxCorpusBytes>>20)
	case !utf8.Valid(text):
		return errNotUTF8
	case strings.TrimSpace(string(text)) == "":
		return errors.New("holds no text")
	}
	to.Write(text)
	return nil
}

// writer cuts texts out of a source, one after the other, and restarts at its end.
type writer struct {
	source string
	scale  TokenScale
	at     int
}

// conversation makes one conversation. num_turns counts answers too, so every second one is the user's.
func (w *writer) conversation(c generatorFile, seed uint64, index int, shared string) Conversation {
	random := NewRandom(seed, "/generated", index)
	messages := min(c.Input.Turns.draw(random, 2), maxMessages)
	prefix := c.Input.Prefix.draw(random, 0)
	made := Conversation{ID: strconv.Itoa(index), Turns: make([]Turn, (messages+1)/2)}
	for i := range made.Turns {
		tokens := c.Input.Tokens.draw(random, 1)
		t := Turn{OutputTokens: c.Output.Tokens.draw(random, 1)}
		if i == 0 {
			t.Text, t.SharedBytes = shared, len(shared)
			if prefix > 0 {
				// The number makes conversations differ when the source restarts.
				t.Text += fmt.Sprintf("Text %d: %s\n\n", index+1, w.take(prefix))
			}
		}
		t.Text += request + w.take(max(1, tokens-w.scale.Count(request)))
		t.Tokens = w.scale.Count(t.Text)
		made.Turns[i] = t
	}
	return made
}

// take returns the next text of about the given number of tokens, cut between words.
func (w *writer) take(tokens int) string {
	want := min(int(float64(tokens)/w.scale.orAssumed().TokensPerByte)+1, maxTextBytes/2)
	var b strings.Builder
	for b.Len() < want {
		rest := w.source[w.at:]
		if missing := want - b.Len(); missing < len(rest) {
			end := wordEnd(rest, missing)
			b.WriteString(rest[:end])
			w.at += end
			break
		}
		b.WriteString(rest)
		w.at = 0
	}
	return strings.TrimSpace(b.String())
}

// wordEnd returns the end of the word at the position, or of the character if words are long, as in languages without
// spaces.
func wordEnd(s string, at int) int {
	const longest = 64
	if i := strings.IndexAny(s[at:min(len(s), at+longest)], " \t\r\n"); i >= 0 {
		return at + i
	}
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return at
}
