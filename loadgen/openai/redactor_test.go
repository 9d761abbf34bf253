package openai

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// forms are the ways in which servers, gateways and proxies repeat a key.
func forms(key string) map[string]string {
	half := len(key) / 2
	return map[string]string{
		"as it is":                        key,
		"upper case":                      strings.ToUpper(key),
		"lower case":                      strings.ToLower(key),
		"base64":                          base64.StdEncoding.EncodeToString([]byte(key)),
		"base64 of URLs, not padded":      base64.RawURLEncoding.EncodeToString([]byte(key)),
		"base64 within a text":            base64.StdEncoding.EncodeToString([]byte("u:" + key + "/x")),
		"base64 within another text":      base64.StdEncoding.EncodeToString([]byte("Bearer " + key)),
		"base64 in lines":                 base64.StdEncoding.EncodeToString([]byte(key))[:9] + "\n" + base64.StdEncoding.EncodeToString([]byte(key))[9:],
		"hexadecimal":                     hex.EncodeToString([]byte(key)),
		"hexadecimal in capitals":         strings.ToUpper(hex.EncodeToString([]byte(key))),
		"hexadecimal by bytes":            fmt.Sprintf("% x", key),
		"for a URL":                       url.QueryEscape(key),
		"split by a space":                key[:half] + " " + key[half:],
		"split over lines":                key[:half] + "\r\n" + key[half:],
		"split over texts of a list":      key[:half] + `","` + key[half:],
		"with a character of no width":    key[:half] + "\u200b" + key[half:],
		"letter by letter":                strings.Join(strings.Split(key, ""), " "),
		"with a mask, as of OpenAI":       key[:8] + strings.Repeat("*", 20) + key[len(key)-4:],
		"with a mask, the end visible":    "****" + key[len(key)-4:],
		"with a mask, begin visible":      key[:4] + "****",
		"with a mask of dots":             key[:3] + "..." + key[len(key)-4:],
		"with a mask of bullets":          key[:3] + "••••" + key[len(key)-4:],
		"with a mask of x":                key[:5] + "xxxxxxxx" + key[len(key)-2:],
		"with a mask of an ellipsis":      key[:5] + "…" + key[len(key)-3:],
		"with a mask, in capitals":        strings.ToUpper(key[:8] + "****" + key[len(key)-4:]),
		"cut off by Printable":            key[:12] + "…",
		"cut off by Printable, in base64": base64.StdEncoding.EncodeToString([]byte(key))[:14] + "…",
	}
}

func TestAKeyIsRedactedInEveryFormInWhichItComesBack(t *testing.T) {
	for _, key := range []string{"sk-proj-Ab3dEf6hIj9kLm2n", "hf_QwErTyUiOpAsDfGhJkL0", "a+b/c=Zz9.y8~x7_w6%v5"} {
		r := NewRedactor(Secrets(map[string][]string{"Authorization": {"Bearer " + key}}))
		for name, form := range forms(key) {
			for _, text := range []string{form, "Incorrect API key provided: " + form, "key=" + form + ". You can find yours"} {
				if strings.HasSuffix(form, ellipsis) && !strings.HasSuffix(text, ellipsis) {
					continue
				}
				got := r.Text(text)
				before, after, _ := strings.Cut(text, form)
				if !strings.Contains(got, redacted) || leaks(got, form) || !strings.HasPrefix(got, before[:max(0, len(before)-4)]) || !strings.HasSuffix(got, after) {
					t.Errorf("%s: %q is %q", name, text, got)
				}
				if again := r.Text(got); again != got {
					t.Errorf("%s: %q is redacted once more: %q", name, got, again)
				}
			}
		}
	}
}

// leaks reports whether three letters or digits in a row of a form are left, other than those of the placeholder.
func leaks(text, form string) bool {
	folded, of := strings.ToLower(strings.ReplaceAll(text, redacted, "")), strings.ToLower(form)
	for i := range len(of) - 3 {
		part := of[i : i+3]
		if len(fold(nil, part)) == 3 && strings.Trim(part, "*x.") != "" && strings.Contains(folded, part) && !strings.Contains("incorrect api key provided: . you can find yours", part) {
			return true
		}
	}
	return false
}

func TestOrdinaryTextIsNotTakenForAKey(t *testing.T) {
	r := NewRedactor(Secrets(map[string][]string{"Authorization": {"Bearer test-key-12345678"}, "X-Model": {"meta-llama/Llama-3"}}))
	for _, text := range []string{
		"", "This is a test... and it ends", "**test** and ***bold***", "a test…", "bearer of news", "####### Heading key", "key 12345", "xxxx 1234 xxxx",
		"max_tokens must be at most 4096; see https://example.org/a.b..c", "test---key", "…", "1,234,567.8",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
	var none *Redactor
	if got := none.Text("sk-1234567890"); got != "sk-1234567890" {
		t.Errorf("%q without secrets", got)
	}
}

func TestAKeySplitOverChunksIsInNoTextOfTheResult(t *testing.T) {
	const key = "sk-proj-Ab3dEf6hIj9kLm2n"
	for name, form := range forms(key) {
		var chunks []string
		for _, r := range form {
			piece, err := json.Marshal(string(r))
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, `{"choices":[{"delta":{"content":`+string(piece)+`}}]}`)
		}
		chunks = append(chunks, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, done)
		c := newTestClient(t, Options{Transport: pieces(events(chunks...)), APIKey: key}, nil)
		result := c.Do(t.Context(), Request{Endpoint: Chat, KeepOutput: true, KeepText: true}, since(time.Now()), nil)
		for _, text := range []string{result.Output, result.Text} {
			if leaks(text, form) || !strings.Contains(text, redacted) {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}

func TestAPasswordForBasicAuthenticationIsASecret(t *testing.T) {
	header := map[string][]string{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("me:plum-pass-1234"))}}
	if got := NewRedactor(Secrets(header)).Text("me:plum-pass-1234 and plum-pass-1234"); strings.Contains(got, "plum") {
		t.Errorf("%q", got)
	}
}

// FuzzRedactor checks that no form of a key is left in any text, and that a text without one is not changed.
func FuzzRedactor(f *testing.F) {
	f.Add("bad key ", "sk-0123456789", " of you", byte(3))
	f.Add("", "aaaaaaaaaaaa", "aaaaaaaa", byte(0))
	f.Add("***", "*********…", "…", byte(9))
	f.Fuzz(func(t *testing.T, before, secret, after string, cut byte) {
		if len(fold(nil, secret)) < minSecretLength || len(secret) > 200 || strings.Contains(redacted, strings.ToLower(secret)) {
			return
		}
		r := NewRedactor([]string{secret})
		at := int(cut) % len(secret)
		for _, form := range []string{secret, strings.ToUpper(secret), secret[:at] + "\n" + secret[at:], base64.StdEncoding.EncodeToString([]byte(before + secret))} {
			got := r.Text(before + form + after)
			if strings.Contains(string(fold(nil, strings.ReplaceAll(got, redacted, "\x00"))), string(fold(nil, secret))) && !strings.Contains(got, redacted) {
				t.Errorf("%q holds %q", got, secret)
			}
		}
		if !r.holds(before) && !strings.ContainsAny(before, "*#xX.•●…") && r.Text(before) != before {
			t.Errorf("%q is %q", before, r.Text(before))
		}
	})
}

func BenchmarkRedactorText(b *testing.B) {
	r := NewRedactor(Secrets(map[string][]string{"Authorization": {"Bearer sk-proj-Ab3dEf6hIj9kLm2n"}}))
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 45)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r.Text(text) != text {
			b.Fatal("changed")
		}
	}
}

func TestNamesOfUnknownMembersHaveNoKey(t *testing.T) {
	const key = "sk-proj-Ab3dEf6hIj9kLm2n"
	stream := events(`{"choices":[{"delta":{"`+key+`":"text"}}]}`, `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, done)
	c := newTestClient(t, Options{Transport: pieces(stream), APIKey: key}, nil)
	record := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
	if names := strings.Join(record.UnknownMembers, " "); !strings.Contains(names, redacted) || strings.Contains(names, key) {
		t.Errorf("%q", names)
	}
}
