package traffic

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// Limits of a prompt file, which is held in memory.
const (
	maxFileBytes     = 1 << 30
	maxTextBytes     = 8 << 20 // of one message
	maxConversations = 1 << 20
	maxMessages      = 2 * MaxTurns // of one conversation
)

// MaxTurns is the most turns of the user in one conversation.
const MaxTurns = 2048

// Formats of prompt files.
const (
	formatShareGPT = "sharegpt"
	formatMessages = "messages"
	formatRows     = "jsonl"
	formatLines    = "text"
	formatGenerate = "generate_conversations"
)

// PromptFile is the content of a prompt file.
type PromptFile struct {
	Format string `json:"format" pack:"word"`
	// SHA256 is the hash of the file. It identifies the file independent of its name.
	SHA256        string         `json:"sha256" pack:"sum"`
	Conversations []Conversation `json:"-"`
	scale         TokenScale
	bytes         int            // of all texts
	named         map[string]int // names in use, with how often each occurred
}

// Len returns the number of prompts and conversations.
func (f *PromptFile) Len() int { return len(f.Conversations) }

// Prompt returns the prompt with the given index; it starts again after the last one.
func (f *PromptFile) Prompt(index int) Prompt {
	return f.Conversations[index%len(f.Conversations)].prompt(f.scale)
}

// ReadPromptFile reads a prompt file. Lengths are counted by the scale, generated texts drawn by the seed. The
// beginning of the file selects the format:
//
//   - ShareGPT, an array: {"id": "x", "conversations": [{"from": "human", "value": "Hi"}, …]}
//   - vLLM's multi-turn benchmark, an array: {"id": "x", "messages": [{"role": "user", "content": "Hi"}, …]}
//   - vLLM's multi-turn generator, one object: {"filetype": "generate_conversations", …}; its
//     text_files count from the folder of the file
//   - one object a line: {"prompt": "Hi", "output_tokens": 9} or {"messages": […]}
//   - anything else is text, a prompt a line; empty lines do not count.
//
// The error names the line, or the place in the array from 1 on.
func ReadPromptFile(path string, scale TokenScale, seed uint64) (*PromptFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	sum := sha256.New()
	limited := &io.LimitedReader{R: file, N: maxFileBytes + 1}
	f := &PromptFile{scale: scale.orAssumed()}
	err = f.read(bufio.NewReaderSize(io.TeeReader(limited, sum), 64<<10), generator{filepath.Dir(path), seed})
	if err == nil && limited.N <= 0 {
		err = fmt.Errorf("longer than %d MiB", maxFileBytes>>20)
	}
	if err == nil && len(f.Conversations) == 0 {
		err = errors.New("holds no prompt")
	}
	if err != nil {
		return nil, err
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// sampleBytes is the size of a sample: enough for a mean, little for a server to read.
const sampleBytes = 4096

// Sample returns a sample of the file's text, from all parts of it.
func (f *PromptFile) Sample() string {
	const pieces = 8
	var b strings.Builder
	for i := range pieces {
		text := f.Conversations[i*f.Len()/pieces].Turns[0].Text
		if end := sampleBytes / pieces; len(text) > end {
			text = text[:wordEnd(text, end)]
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return b.String()
}

// withoutPath returns the error without the path: the caller names the file.
func withoutPath(err error) error {
	if wrapped := (*os.PathError)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// read reads the whole file.
func (f *PromptFile) read(r *bufio.Reader, g generator) error {
	first, err := begin(r)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case first == '[':
		return f.readArray(r)
	case first == '{' && isGenerator(r):
		return f.generate(r, g)
	case first == '{':
		f.Format = formatRows
		return f.readLines(r, f.row)
	default:
		f.Format = formatLines
		return f.readLines(r, f.line)
	}
}

// begin skips a byte order mark and white space and returns the next byte.
func begin(r *bufio.Reader) (byte, error) {
	if mark, err := r.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = r.Discard(len(mark))
	}
	for {
		b, err := r.Peek(1)
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b[0])) {
			return b[0], nil
		}
		_, _ = r.Discard(1)
	}
}

// readArray reads an array of conversations.
func (f *PromptFile) readArray(r io.Reader) error {
	decoder := json.NewDecoder(r)
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		place := f.Len() + 1
		var item conversationItem
		if err := decoder.Decode(&item); err != nil {
			return fmt.Errorf("conversation %d: %w", place, readable(err))
		}
		if err := f.addItem(item); err != nil {
			return fmt.Errorf("conversation %d: %w", place, err)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("after conversation %d: %w", f.Len(), readable(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the array")
	}
	return nil
}

func readable(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readLines calls take with each line that is not empty.
func (f *PromptFile) readLines(r io.Reader, take func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), 2*maxTextBytes)
	number := 1
	for ; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := take(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: longer than %d MiB", number, 2*maxTextBytes>>20)
	}
	return lines.Err()
}

// line adds a line of text.
func (f *PromptFile) line(line []byte) error {
	return f.add(Conversation{Turns: []Turn{{Text: string(line)}}})
}

// row adds a line that is an object.
func (f *PromptFile) row(line []byte) error {
	var row struct {
		Prompt       *string   `json:"prompt"`
		Messages     []message `json:"messages"`
		OutputTokens *int      `json:"output_tokens"`
	}
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	if (row.Prompt == nil) == (len(row.Messages) == 0) {
		return errors.New("want either prompt or messages")
	}
	output := 0
	if row.OutputTokens != nil {
		if output = *row.OutputTokens; output < 1 || output > MaxTokens {
			return fmt.Errorf("output_tokens %d is not from 1 to %d", output, MaxTokens)
		}
	}
	c := Conversation{}
	if row.Prompt != nil {
		c.Turns = []Turn{{Text: *row.Prompt}}
	} else if err := c.converse(row.Messages); err != nil {
		return err
	} else if c.recorded, err = asItStands(row.Messages); err != nil {
		return err
	}
	for i := range c.Turns {
		c.Turns[i].OutputTokens = output
	}
	return f.add(c)
}

var errNotUTF8 = errors.New("not valid UTF-8")

// add adds a conversation, with the length of each turn.
func (f *PromptFile) add(c Conversation) error {
	if f.Len() == maxConversations {
		return fmt.Errorf("more than %d prompts", maxConversations)
	}
	if len(c.Turns) == 0 {
		return errors.New("it has no user message")
	}
	c.ID = f.name(c.ID)
	for i := range c.Turns {
		t := &c.Turns[i]
		if err := checkText(t.Text); err != nil {
			return err
		}
		if f.bytes += len(t.Text); f.bytes > maxFileBytes {
			return fmt.Errorf("the texts together are longer than %d MiB", maxFileBytes>>20)
		}
		if t.Tokens == 0 {
			t.Tokens = f.scale.Count(t.Text)
		}
	}
	f.Conversations = append(f.Conversations, c)
	return nil
}

// name makes the name of a conversation unique, since records are identified by it. A name that is already in use gets
// a number as suffix.
func (f *PromptFile) name(given string) string {
	if given == "" {
		given = strconv.Itoa(f.Len())
	}
	if f.named == nil {
		f.named = map[string]int{}
	}
	own := given
	for f.named[own] > 0 {
		f.named[given]++
		own = given + "#" + strconv.Itoa(f.named[given])
	}
	f.named[own] = 1
	return own
}

// checkText refuses text that a request cannot carry.
func checkText(s string) error {
	switch {
	case s == "":
		return errors.New("an empty text")
	case len(s) > maxTextBytes:
		return fmt.Errorf("a text longer than %d MiB", maxTextBytes>>20)
	case !utf8.ValidString(s):
		return errNotUTF8
	}
	return nil
}
