package campaign

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// heard is what a server was sent.
type heard struct {
	path, kind, title, body string
}

// listening takes messages; status is what it answers.
func listening(t *testing.T, status int) (url string, messages chan heard) {
	t.Helper()
	messages = make(chan heard, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		messages <- heard{r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Title"), string(body)}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/secret-topic?token=hunter2", messages
}

var message = Message{Campaign: "nätive", Event: "end", State: Complete, Text: "complete; <!channel> & of 4 slots 4 finished", Slots: 4, Counts: map[Status]int{Finished: 4}}

func TestSomebodyIsToldInTheFormThatTheServerTakes(t *testing.T) {
	url, messages := listening(t, http.StatusOK)
	for form, check := range map[string]func(heard) bool{
		"": func(h heard) bool {
			var m Message
			return json.Unmarshal([]byte(h.body), &m) == nil && m.Schema == MessageSchema && m.Campaign == "nätive" && m.Counts[Finished] == 4 && h.kind == "application/json"
		},
		"webhook+": func(h heard) bool { return strings.Contains(h.body, MessageSchema) },
		"ntfy+":    func(h heard) bool { return h.body == message.Text && h.title == "umascope: campaign n?tive" },
		"slack+": func(h heard) bool {
			var m struct{ Text string }
			return json.Unmarshal([]byte(h.body), &m) == nil && strings.Contains(m.Text, "&lt;!channel&gt; &amp; of") && strings.Contains(m.Text, "nätive")
		},
	} {
		n, err := NewNotifier(form + url)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Tell(t.Context(), message); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		if h := <-messages; !check(h) || h.path != "/secret-topic" {
			t.Errorf("%s: %+v", form, h)
		}
		if shown := n.String(); strings.Contains(shown, "secret") || strings.Contains(shown, "hunter2") {
			t.Errorf("shown as %s", shown)
		}
	}
}

func TestTheFormIsThatOfTheHost(t *testing.T) {
	for address, want := range map[string]string{
		"https://hooks.slack.com/services/T/B/x": "slack at https://hooks.slack.com", "https://ntfy.sh/topic": "ntfy at https://ntfy.sh",
		"https://example.org/hook": "webhook at https://example.org", "ntfy+http://10.0.0.1:8080/t": "ntfy at http://10.0.0.1:8080", "": "",
		"https://user:secret@example.org/?a+b": "webhook at https://example.org",
	} {
		n, err := NewNotifier(address)
		if err != nil || n.String() != want {
			t.Errorf("%s: %s (%v)", address, n, err)
		}
	}
	for _, address := range []string{"ftp://secret/", "mail+https://secret/", "secret", "https://", "ntfy+secret", "://secret"} {
		if _, err := NewNotifier(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestThatNobodyCouldBeToldNamesNoAddress(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusInternalServerError, 0} {
		url := "http://127.0.0.1:1/secret-topic"
		var messages chan heard
		if status != 0 {
			url, messages = listening(t, status)
		}
		n, err := NewNotifier(url)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Tell(t.Context(), message); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d: %v", status, err)
		}
		if messages != nil && len(messages) != 1 {
			t.Errorf("%d: it was followed to elsewhere", status)
		}
	}
	if err := (Notifier{}).Tell(t.Context(), message); err != nil {
		t.Error(err)
	}
}

func TestACampaignTellsHowItEndsAndThatItStalls(t *testing.T) {
	for name, c := range map[string]struct {
		plan  string
		says  Result
		event string
	}{
		"the end":   {"iterations: 1\n", Result{Status: Finished}, "end"},
		"too bad":   {"iterations: 2\non_invalid: {repeat: 0, stop_after: 2}\n", Result{Status: Invalid}, "invalid"},
		"given up":  {"iterations: 2\nabort_if: [{signal: reuse}]\n", Result{Status: Finished}, "stop"},
		"it stalls": {"iterations: 1\n", Result{Status: Finished}, "stall"},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.result = func(Order) Result { return c.says }
			if c.event == "stall" {
				w.during = func(ctx context.Context, o Order) { _ = sleep(ctx, 7*time.Hour) }
			}
			var told []Message
			campaign := w.campaign(parsed(t, c.plan))
			var err error
			if campaign.Notify, err = NewNotifier("http://somebody/"); err != nil {
				t.Fatal(err)
			}
			campaign.Notify.client = &http.Client{Transport: hearing(func(body []byte) {
				var m Message
				if err := json.Unmarshal(body, &m); err != nil {
					t.Error(err)
				}
				told = append(told, m)
			})}
			w.mustRun(t.Context(), campaign)
			if len(told) == 0 || told[0].Event != c.event || told[0].Text == "" || told[len(told)-1].Event == "stall" {
				t.Errorf("%s: %+v", name, told)
			}
		})
	}
}

// hearing is a server without a network.
type hearing func(body []byte)

func (h hearing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	h(body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("")), Request: r}, err
}
