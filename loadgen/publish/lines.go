package publish

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

var (
	// word matches the words of uma-load: states, kinds, names of phases.
	word = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)
	// letters matches the kinds of chunks.
	letters = regexp.MustCompile(`^[a-z]*$`)
	// fault matches what uma-load writes of counts that cannot be right.
	fault = regexp.MustCompile(`^usage counts [0-9]+ (output|prompt|cached) tokens[a-z0-9, ]{0,100}$`)
)

// conversations numbers the conversations of a run: their names may come from a private file.
type conversations map[string]string

func (c conversations) name(what string) string {
	if what == "" {
		return ""
	}
	name, known := c[what]
	if !known {
		name = fmt.Sprintf("c%d", len(c)+1)
		c[what] = name
	}
	return name
}

// record removes the contents from a line of requests.jsonl: neither the server's text nor its names for requests
// remain. Hashes of prompts stay, so that a reader can check that two arms had the same requests.
func (c *cleaner) record(r *openai.Record, of conversations) {
	r.Run, r.Conversation, r.Session = c.run(r.Run), of.name(r.Conversation), of.name(r.Session)
	r.Error, r.ServerRequestID = "", ""
	if r.Server != "" {
		r.Server = c.address(r.Server)
	}
	for _, sum := range []*string{&r.PromptSHA256, &r.PrefixSHA256, &r.ParamsSHA256, &r.OutputSHA256} {
		if !sumPattern.MatchString(*sum) {
			*sum = ""
		}
	}
	status := string(r.Status)
	for _, own := range []*string{&r.Phase, &r.FirstEventType, &r.TokensSource, &r.ArrivalTokensSource, &r.FinishReason, &status} {
		*own = c.word(*own)
	}
	r.Status = openai.Status(status)
	if !fault.MatchString(r.UsageFault) {
		r.UsageFault = ""
	}
	for i := range r.UnknownMembers {
		r.UnknownMembers[i] = c.word(r.UnknownMembers[i])
	}
	r.UnknownMembers = slices.DeleteFunc(r.UnknownMembers, func(name string) bool { return name == "" })
	if !letters.MatchString(r.ArrivalKinds) {
		r.ArrivalKinds = ""
	}
}

// scheduled cleans a line of schedule.jsonl.
func (c *cleaner) scheduled(l *rundir.ScheduleLine, of conversations) {
	l.Phase, l.Conversation = c.word(l.Phase), of.name(l.Conversation)
	for _, sum := range []*string{&l.PromptSHA256, &l.PrefixSHA256, &l.ParamsSHA256} {
		if !sumPattern.MatchString(*sum) {
			*sum = ""
		}
	}
}

// word scrubs a word; a text that is not a word becomes empty.
func (c *cleaner) word(text string) string {
	if !word.MatchString(text) {
		return ""
	}
	return c.text(text)
}

// longestLine bounds a line of requests: a hundred thousand arrivals are a few megabytes.
const longestLine = 256 << 20

// eachLine passes every line through change. The last line of a run that was killed may be torn, and is dropped.
func eachLine(from io.Reader, to io.Writer, change func([]byte) ([]byte, error)) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	for number := 1; ; number++ {
		text, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			text, err = change(text)
		}
		if err == nil {
			_, err = to.Write(text)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// readLine reads a line with its end; a line without an end is torn, and the end of the file.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := lines.ReadSlice('\n')
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
		if len(whole) > longestLine {
			return nil, fmt.Errorf("longer than %d MiB", longestLine>>20)
		}
	}
}

// typed applies change to a line of a known type.
func typed[T any](change func(*T)) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		var line T
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, err
		}
		change(&line)
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(line)
		return out.Bytes(), err
	}
}
