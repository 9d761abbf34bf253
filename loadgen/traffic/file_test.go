package traffic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	shareGPT = `[{"id": "QWJhYvA_0", "conversations": [{"from": "gpt", "value": "lost"}, {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}, {"from": "human", "value": "Bye"}]},
 {"id": "empty", "conversations": []}, {"id": 7, "conversations": [{"from": "system", "value": "Be kind"}, {"from": "human", "value": "Why?"}]}]`
	multiTurn = `[{"id": "a", "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "two"}]}]`
	rows      = `{"prompt": "first", "output_tokens": 9}

{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "u1"}, {"role": "assistant", "content": "a1"}, {"role": "user", "content": "u2"}]}`
	generated = `{"filetype": "generate_conversations", "num_conversations": 5, "text_files": ["pg.txt"], "print_stats": false,
 "prompt_input": {"num_turns": {"distribution": "uniform", "min": 3, "max": 6}, "common_prefix_num_tokens": {"distribution": "constant", "value": 20},
  "prefix_num_tokens": {"distribution": "lognormal", "average": 50, "max": 200}, "num_tokens": {"distribution": "uniform", "min": 60, "max": 80}},
 "prompt_output": {"num_tokens": {"distribution": "constant", "value": 33}}}`
)

// written returns a file with the given text, next to a text file called pg.txt.
func written(t testing.TB, text string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"prompts": text, "pg.txt": strings.Repeat("It was a dark and stormy night in Marseille. ", 200)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "prompts")
}

func readFile(t *testing.T, text string) *PromptFile {
	t.Helper()
	f, err := ReadPromptFile(written(t, text), TokenScale{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestShareGPTIsReadAsTheUsersTurns(t *testing.T) {
	f := readFile(t, shareGPT)
	if f.Len() != 2 || f.Format != formatShareGPT || len(f.SHA256) != 64 {
		t.Fatalf("%d conversations of %s", f.Len(), f.Format)
	}
	first, second := f.Conversations[0], f.Conversations[1]
	if first.ID != "QWJhYvA_0" || len(first.Turns) != 2 || first.Turns[0].Text != "Hi" || first.Turns[1].Text != "Bye" {
		t.Errorf("first %+v", first)
	}
	if second.ID != "7" || len(second.Before) != 1 || second.Before[0] != (Message{"system", "Be kind"}) {
		t.Errorf("second %+v", second)
	}
	if p := f.Prompt(1); p.Text != "Why?" || len(p.Before) != 1 || p.Tokens != 1+2 {
		t.Errorf("as a prompt: %+v", p)
	}
	if f.Prompt(2).Text != f.Prompt(0).Text {
		t.Error("the file does not start again after its last prompt")
	}
}

func TestConversationsOfVLLMAreReadTurnByTurn(t *testing.T) {
	f := readFile(t, "\xef\xbb\xbf \n"+multiTurn)
	if c := f.Conversations[0]; f.Format != formatMessages || c.ID != "a" || len(c.Turns) != 2 || c.Turns[1].Text != "two" {
		t.Errorf("%s: %+v", f.Format, c)
	}
}

func TestConversationsOfOneNameGetUniqueNames(t *testing.T) {
	same := strings.TrimSuffix(multiTurn, "]") + "," + strings.TrimPrefix(multiTurn, "[")
	if f := readFile(t, same); f.Conversations[0].ID != "a" || f.Conversations[1].ID != "a#2" {
		t.Errorf("%q and %q", f.Conversations[0].ID, f.Conversations[1].ID)
	}
	// A name that was made must not be one that is given, before or after it.
	const hi = `"messages": [{"role": "user", "content": "Hi"}]}`
	for given, want := range map[string][]string{
		`a, a#2, a, a`: {"a", "a#2", "a#3", "a#4"},
		`a, a, a#2`:    {"a", "a#2", "a#2#2"},
		`1, `:          {"1", "1#2"},
	} {
		var items, got []string
		for id := range strings.SplitSeq(given, ", ") {
			items = append(items, `{"id": "`+id+`", `+hi)
		}
		for _, c := range readFile(t, "["+strings.Join(items, ",")+"]").Conversations {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("names of %q are %q, want %q", given, got, want)
		}
	}
}

func TestRowsAreSentUnchanged(t *testing.T) {
	f := readFile(t, rows)
	if p := f.Prompt(0); p.Text != "first" || p.OutputTokens != 9 || p.Tokens != 2 {
		t.Errorf("first %+v", p)
	}
	p := f.Prompt(1)
	if p.Text != "u2" || len(p.Before) != 3 || p.Before[2] != (Message{"assistant", "a1"}) || p.OutputTokens != 0 {
		t.Errorf("second %+v", p)
	}
	if turns := f.Conversations[1].Turns; len(turns) != 2 || turns[0].Text != "u1" {
		t.Errorf("as a conversation %+v", turns)
	}
}

func TestTextIsAPromptALine(t *testing.T) {
	f := readFile(t, "What is love?\r\n\n  Baby don't hurt me  \n")
	if f.Len() != 2 || f.Format != formatLines || f.Prompt(0).Text != "What is love?" || f.Prompt(1).Text != "Baby don't hurt me" {
		t.Errorf("%+v", f.Conversations)
	}
}

func TestConversationsAreMadeOfTheUsersTextFiles(t *testing.T) {
	f := readFile(t, generated)
	if f.Len() != 5 || f.Format != formatGenerate {
		t.Fatalf("%d conversations of %s", f.Len(), f.Format)
	}
	shared := ""
	for i, c := range f.Conversations {
		if len(c.Turns) < 2 || len(c.Turns) > 3 {
			t.Errorf("conversation %d has %d turns of the user, of 3 to 6 messages", i, len(c.Turns))
		}
		beginning := c.Turns[0].Text[:c.Turns[0].SharedBytes]
		if shared == "" {
			shared = beginning
		}
		if beginning != shared || !strings.Contains(shared, "stormy") {
			t.Errorf("conversation %d begins %q, another %q", i, beginning, shared)
		}
		for j, turn := range c.Turns[1:] {
			if turn.OutputTokens != 33 || turn.Tokens < 60 || turn.Tokens > 84 || turn.SharedBytes != 0 {
				t.Errorf("conversation %d, turn %d: %d tokens, %d asked for", i, j+1, turn.Tokens, turn.OutputTokens)
			}
		}
	}
	again, err := ReadPromptFile(written(t, generated), TokenScale{}, 1)
	if err != nil || again.Conversations[4].Turns[1].Text != f.Conversations[4].Turns[1].Text {
		t.Errorf("the same seed made something else, %v", err)
	}
}

func TestAPromptFileThatCannotBeReadIsRefusedByPlace(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "no prompt"},
		{"\n\n", "no prompt"},
		{"[]", "no prompt"},
		{multiTurn + "x", "follows"},
		{multiTurn[:len(multiTurn)-1], "after conversation 1"},
		{`[{"id": 1}]`, "conversation 1: neither messages"},
		{`[{"messages": [{"role": "tool", "content": "x"}]}]`, `conversation 1: a message of "tool"`},
		{`[{"messages": [{"role": "user", "content": [{"type": "image"}]}]}]`, "not a text"},
		{`[{"messages": [{"role": "user"}]}]`, "without a text"},
		{`[5]`, "conversation 1"},
		{rows + "\n{\"prompt\": 5}", "line 4"},
		{rows + "\n{}", "line 4: want either prompt or messages"},
		{rows + "\n{\"prompt\": \"x\", \"output_tokens\": 0}", "line 4: output_tokens 0"},
		{rows + "\n{\"prompt\": \"\"}", "line 4: an empty text"},
		{rows + "\n{\"prompt\": \"\xff\"}", "line 4: not valid UTF-8"},
		{`{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}`, "line 1: the last message"},
		{"fine\n\xff\xfe", "line 2: not valid UTF-8"},
		{strings.Repeat("x", 2*maxTextBytes+1), "line 1: longer than"},
		{strings.Replace(generated, "pg.txt", "none.txt", 1), "text_files: none.txt"},
		{strings.Replace(generated, `"num_conversations": 5`, `"num_conversations": 0`, 1), "num_conversations 0"},
		{strings.Replace(generated, "generate_conversations", "poem", 1), `filetype "poem"`},
		{strings.Replace(generated, "prompt_output", "output", 1), "prompt_output"},
		{strings.Replace(generated, `"average": 50`, `"average": 50, "median_ratio": 2`, 1), "lognormal: median_ratio"},
		{strings.Replace(generated, `"average": 50`, `"average": 50, "sigma": 2`, 1), "not both"},
		{strings.Replace(generated, `"average": 50`, `"mean": 99, "sigma": 2`, 1), "lognormal: mean"},
		{strings.Replace(generated, `"min": 3`, `"least": 3`, 1), "least"},
		{strings.Replace(generated, `"min": 3`, `"min": 9`, 1), "uniform: min"},
		{strings.Replace(generated, "lognormal", "cauchy", 1), "cauchy"},
	} {
		if _, err := ReadPromptFile(written(t, c.text), TokenScale{}, 1); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.says)
		}
	}
	if _, err := ReadPromptFile(filepath.Join(t.TempDir(), "none"), TokenScale{}, 1); err == nil {
		t.Error("a file that is not there was read")
	}
	if _, err := ReadPromptFile(t.TempDir(), TokenScale{}, 1); err == nil {
		t.Error("a folder was read")
	}
}

func TestMadeConversationsShareTheirBeginningOnly(t *testing.T) {
	s := set(t, 2, "100")
	s.SharedTokens = 50
	first, second := s.Turn("measure", 0, 0), s.Turn("measure", 0, 1)
	if first.Tokens != 150 || second.Tokens != 100 || second.SharedBytes != 0 {
		t.Errorf("turns %+v, %+v", first, second)
	}
	other := s.Turn("measure", 1, 0)
	if n := first.SharedBytes; first.Text[:n] != other.Text[:n] || first.Text == other.Text || second.Text == s.Turn("measure", 1, 1).Text {
		t.Error("the conversations share all or nothing")
	}
}

func FuzzReadFile(f *testing.F) {
	for _, seed := range []string{shareGPT, multiTurn, rows, generated, "a line\nanother", "[", "{", `{"filetype": 1}`} {
		f.Add(seed)
	}
	folder := f.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "pg.txt"), []byte("dark and stormy"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "num_conversations") && len(text) > 2*len(generated) {
			return // a few bytes may ask for a gibibyte of text: allowed, but not a thousand times
		}
		path := filepath.Join(t.TempDir(), "prompts")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "pg.txt", filepath.Join(folder, "pg.txt"))), 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := ReadPromptFile(path, TokenScale{}, 1)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Fatalf("not one line: %q", err)
			}
			return
		}
		if file.Len() == 0 || file.Len() > maxConversations {
			t.Fatalf("%d conversations", file.Len())
		}
		for i, c := range file.Conversations {
			if len(c.Turns) == 0 {
				t.Fatalf("conversation %d has no turn", i)
			}
			for _, turn := range c.Turns {
				if turn.Text == "" || len(turn.Text) > maxTextBytes || turn.Tokens < 1 || turn.OutputTokens < 0 || turn.SharedBytes > len(turn.Text) {
					t.Fatalf("turn of %d bytes, %d tokens, %d out", len(turn.Text), turn.Tokens, turn.OutputTokens)
				}
			}
			if p := file.Prompt(i); p.Text == "" || p.Tokens < 1 {
				t.Fatalf("prompt %+v", p)
			}
		}
	})
}

func TestAPromptIsClippedFromItsEndBetweenCharacters(t *testing.T) {
	scale := Assumption()
	p := Prompt{Before: []Message{{"system", "12345678"}}, Text: strings.Repeat("ö", 400), Tokens: 2 + 200, SharedBytes: 4}
	for _, tokens := range []int{202, 201, 77, 8} {
		clipped, ok := p.Clip(tokens, scale)
		if !ok || clipped.Tokens > tokens || clipped.Tokens < tokens-2 || strings.Trim(clipped.Text, "ö") != "" || clipped.Tokens != 2+scale.Count(clipped.Text) {
			t.Errorf("to %d tokens: %d in %d bytes, %v", tokens, clipped.Tokens, len(clipped.Text), ok)
		}
	}
	if _, ok := p.Clip(2, scale); ok {
		t.Error("nothing but what stands before it was left")
	}
}
