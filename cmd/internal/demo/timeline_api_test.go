package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ask sends a question as the preview of dashboards does.
func queryAPI(t *testing.T, s *timeline, method, path string, form url.Values) (code int, body string) {
	t.Helper()
	request := httptest.NewRequest(method, path+"?"+form.Encode(), nil)
	if method == http.MethodPost {
		request = httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, request)
	if kind := answer.Header().Get("Content-Type"); kind != "application/json" && answer.Code != http.StatusNotFound && answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("%s is of type %q", path, kind)
	}
	return answer.Code, answer.Body.String()
}

// stocked is a store with numbers that are hard to write, and a native histogram.
func stocked(t *testing.T) *timeline {
	t.Helper()
	s, p := testTimeline(t), &fixedPage{}
	registry := prometheus.NewRegistry()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Help: "h", NativeHistogramBucketFactor: 2})
	registry.MustRegister(h)
	whole := scrapeTarget{Handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), Path: "/", Job: "other", Host: "spark"}
	for second := range 3 {
		p.text = fmt.Sprintf("a{x=\"1\"} %d.5\na{x=\"2\"} NaN\nb +Inf\n", second)
		h.Observe(1.5)
		h.Observe(-3)
		scrape(t, s, p.target(), epoch.Add(time.Duration(second)*time.Second))
		scrape(t, s, whole, epoch.Add(time.Duration(second)*time.Second))
	}
	return s
}

// TestAnswersAreThoseOfPrometheus: the texts are what a Prometheus has answered that was started with the folder of
// this store. Only the text of a bad expression is left out, which Prometheus' own parser writes.
func TestAnswersAreThoseOfPrometheus(t *testing.T) {
	s := stocked(t)
	const query, queryRange = "/api/v1/query", "/api/v1/query_range"
	when := fmt.Sprint(epoch.Unix() + 2)
	from := fmt.Sprint(epoch.Unix())
	for name, test := range map[string]struct {
		path string
		form url.Values
		want string
	}{
		"a vector": {query, url.Values{"query": {"a"}, "time": {when}}, `{"status":"success","data":{"resultType":"vector","result":[` +
			`{"metric":{"__name__":"a","host":"spark","instance":"spark","job":"job","x":"1"},"value":[WHEN,"2.5"]},` +
			`{"metric":{"__name__":"a","host":"spark","instance":"spark","job":"job","x":"2"},"value":[WHEN,"NaN"]}]}}`},
		"an infinity":     {query, url.Values{"query": {"sum(b)"}, "time": {when}}, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[WHEN,"+Inf"]}]}}`},
		"a scalar":        {query, url.Values{"query": {"1.5"}, "time": {when}}, `{"status":"success","data":{"resultType":"scalar","result":[WHEN,"1.5"]}}`},
		"a text":          {query, url.Values{"query": {`"x"`}, "time": {when}}, `{"status":"success","data":{"resultType":"string","result":[WHEN,"x"]}}`},
		"nothing":         {query, url.Values{"query": {"nothing"}, "time": {when}}, `{"status":"success","data":{"resultType":"vector","result":[]}}`},
		"nothing anytime": {queryRange, url.Values{"query": {"nothing"}, "start": {from}, "end": {when}, "step": {"1"}}, `{"status":"success","data":{"resultType":"matrix","result":[]}}`},
		"a matrix": {queryRange, url.Values{"query": {`a{x="1"}`}, "start": {from}, "end": {when}, "step": {"1s"}}, `{"status":"success","data":{"resultType":"matrix","result":[` +
			`{"metric":{"__name__":"a","host":"spark","instance":"spark","job":"job","x":"1"},"values":[[FROM,"0.5"],[NEXT,"1.5"],[WHEN,"2.5"]]}]}}`},
		"a time with milliseconds": {query, url.Values{"query": {"time()"}, "time": {when + ".25"}}, `{"status":"success","data":{"resultType":"scalar","result":[WHEN.25,"WHEN.25"]}}`},
		"a time as a date":         {query, url.Values{"query": {"time()"}, "time": {epoch.Add(2 * time.Second).Format(time.RFC3339)}}, `{"status":"success","data":{"resultType":"scalar","result":[WHEN,"WHEN"]}}`},
		"a native histogram": {query, url.Values{"query": {"h"}, "time": {when}}, `{"status":"success","data":{"resultType":"vector","result":[` +
			`{"metric":{"__name__":"h","host":"spark","instance":"spark","job":"other"},"histogram":[WHEN,{"count":"6","sum":"-4.5","buckets":[[1,"-4","-2","3"],[0,"1","2","3"]]}]}]}}`},
		"values of a label":              {"/api/v1/label/x/values", url.Values{"start": {from}, "end": {when}}, `{"status":"success","data":["1","2"]}`},
		"values by selector":             {"/api/v1/label/__name__/values", url.Values{"match[]": {`a{x="1"}`, "b"}}, `{"status":"success","data":["a","b"]}`},
		"values of none":                 {"/api/v1/label/no/values", nil, `{"status":"success","data":[]}`},
		"values of another time":         {"/api/v1/label/x/values", url.Values{"start": {"1000"}, "end": {"2000"}}, `{"status":"success","data":[]}`},
		"a time limit":                   {query, url.Values{"query": {"1"}, "time": {when}, "timeout": {"20s"}}, `{"status":"success","data":{"resultType":"scalar","result":[WHEN,"1"]}}`},
		"that it may mean something els": {query, url.Values{"query": {"rate(a[2s])"}, "time": {when}}, "PromQL info: metric might not be a counter"},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.NewReplacer("WHEN", when, "FROM", from, "NEXT", fmt.Sprint(epoch.Unix()+1)).Replace(test.want)
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if method == http.MethodPost && strings.Contains(test.path, "/label/") {
					continue // Prometheus takes no form there
				}
				code, body := queryAPI(t, s, method, test.path, test.form)
				if code != http.StatusOK || !same(body, want) && !(want[0] != '{' && strings.Contains(body, want)) {
					t.Errorf("%s: %d %s\nwant %s", method, code, body, want)
				}
			}
		})
	}
}

// same compares JSON.
func same(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// TestWithoutATimeTheNewestSampleIsThePresent: the wall clock's time is none of the simulation.
func TestWithoutATimeTheNewestSampleIsThePresent(t *testing.T) {
	for name, epoch := range epochs {
		s, p := testTimeline(t), &fixedPage{text: "a 1\n"}
		if !s.Newest().IsZero() {
			t.Errorf("%s: the newest sample of an empty store is of %s", name, s.Newest())
		}
		if code, body := queryAPI(t, s, http.MethodGet, "/api/v1/query", url.Values{"query": {"a"}}); code != http.StatusOK || !strings.Contains(body, `"result":[]`) {
			t.Errorf("%s: an empty store answers %d %s", name, code, body)
		}
		scrape(t, s, p.target(), epoch)
		if !s.Newest().Equal(epoch) {
			t.Errorf("%s: the newest sample is of %s", name, s.Newest())
		}
		_, body := queryAPI(t, s, http.MethodGet, "/api/v1/query", url.Values{"query": {"a + time() * 0"}})
		if want := fmt.Sprintf(`"value":[%d,"1"]`, epoch.Unix()); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", name, body, want)
		}
	}
}

func TestBadQuestionsAreAnswered(t *testing.T) {
	s := stocked(t)
	long := strings.Repeat("x", 2<<20)
	for name, test := range map[string]struct {
		path       string
		form       url.Values
		code       int
		kind, want string
	}{
		"an expression":      {"/api/v1/query", url.Values{"query": {"a +"}}, http.StatusBadRequest, "bad_data", "parse error"},
		"no expression":      {"/api/v1/query", nil, http.StatusBadRequest, "bad_data", "parse error"},
		"a time":             {"/api/v1/query", url.Values{"query": {"a"}, "time": {"noon"}}, http.StatusBadRequest, "bad_data", `time: "noon" is no time`},
		"no number":          {"/api/v1/query", url.Values{"query": {"a"}, "time": {"NaN"}}, http.StatusBadRequest, "bad_data", `time: "NaN"`},
		"a far time":         {"/api/v1/query", url.Values{"query": {"a"}, "time": {"1e300"}}, http.StatusBadRequest, "bad_data", `time: "1e300"`},
		"a time limit":       {"/api/v1/query", url.Values{"query": {"a"}, "timeout": {"soon"}}, http.StatusBadRequest, "bad_data", `timeout: "soon" is no duration`},
		"no start":           {"/api/v1/query_range", url.Values{"query": {"a"}, "end": {"2"}, "step": {"1"}}, http.StatusBadRequest, "bad_data", "start is missing"},
		"no end":             {"/api/v1/query_range", url.Values{"query": {"a"}, "start": {"2"}, "step": {"1"}}, http.StatusBadRequest, "bad_data", "end is missing"},
		"the wrong way":      {"/api/v1/query_range", url.Values{"query": {"a"}, "start": {"2"}, "end": {"1"}, "step": {"1"}}, http.StatusBadRequest, "bad_data", "is before the start"},
		"no step":            {"/api/v1/query_range", url.Values{"query": {"a"}, "start": {"1"}, "end": {"2"}}, http.StatusBadRequest, "bad_data", "step: "},
		"a step of nothing":  {"/api/v1/query_range", url.Values{"query": {"a"}, "start": {"1"}, "end": {"2"}, "step": {"0"}}, http.StatusBadRequest, "bad_data", "a step of 0s"},
		"too many points":    {"/api/v1/query_range", url.Values{"query": {"a"}, "start": {"0"}, "end": {"12000"}, "step": {"1"}}, http.StatusBadRequest, "bad_data", "more than 11000 points"},
		"a selector":         {"/api/v1/label/x/values", url.Values{"match[]": {"{"}}, http.StatusBadRequest, "bad_data", "parse error"},
		"many with many":     {"/api/v1/query", url.Values{"query": {"a * on (host) a"}}, http.StatusUnprocessableEntity, "execution", "many-to-many"},
		"hardly any time":    {"/api/v1/query", url.Values{"query": {"a"}, "timeout": {"0.000000001"}}, http.StatusServiceUnavailable, "timeout", ""},
		"more than anybody":  {"/api/v1/query", url.Values{"query": {long}}, http.StatusBadRequest, "bad_data", ""},
		"what is not served": {"/api/v1/targets", nil, http.StatusNotFound, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := queryAPI(t, s, http.MethodPost, test.path, test.form)
			if strings.Contains(test.path, "/label/") {
				code, body = queryAPI(t, s, http.MethodGet, test.path, test.form)
			}
			if code != test.code {
				t.Errorf("%d %s, want %d", code, body, test.code)
			}
			if test.kind == "" {
				return
			}
			var got struct{ Status, ErrorType, Error string }
			if err := json.Unmarshal([]byte(body), &got); err != nil || got.Status != "error" || got.ErrorType != test.kind || !strings.Contains(got.Error, test.want) {
				t.Errorf("%s, want an error of the kind %s with %q", body, test.kind, test.want)
			}
		})
	}
}
