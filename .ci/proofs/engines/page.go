package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// page is a metrics page, as text.
type page string

// sum adds up all samples of a metric whose labels match, and reports whether there are any. It reads just enough of the
// exposition format for pages of real servers, on purpose without any library that umascope uses.
func (p page) sum(metric string, labels ...string) (float64, bool) {
	var total float64
	found := false
	for line := range strings.Lines(string(p)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), metric)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' || !containsAll(rest, labels) {
			continue
		}
		fields := strings.Fields(rest[strings.LastIndex(rest, "}")+1:])
		if len(fields) == 0 {
			continue
		}
		if value, err := strconv.ParseFloat(fields[0], 64); err == nil {
			total, found = total+value, true
		}
	}
	return total, found
}

// label returns the value of a label of the first sample of a metric.
func (p page) label(metric, label string) string {
	for line := range strings.Lines(string(p)) {
		if strings.HasPrefix(line, metric+"{") {
			if _, after, ok := strings.Cut(line, label+`="`); ok {
				value, _, _ := strings.Cut(after, `"`)
				return value
			}
		}
	}
	return ""
}

func containsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// longestBody limits the bytes that are read of an answer.
const longestBody = 16 << 20

// get reads a URL of a server that runs here.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, longestBody))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(body), err
}

// find returns the first group of an expression in a text, without commas between digits.
func find(text, expression string) string {
	if m := regexp.MustCompile(expression).FindStringSubmatch(text); m != nil {
		return strings.ReplaceAll(m[1], ",", "")
	}
	return ""
}

// readLog reads a server's log, empty if there is none.
func readLog(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
