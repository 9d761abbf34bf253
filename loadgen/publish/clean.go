package publish

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runfile"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// tag is the struct tag of fields whose texts go into a pack. Its values are names of kinds and the cases of text. The
// value - drops a field that has only numbers.
const tag = "pack"

// visitor returns what becomes of a text. Key is its name in a map.
type visitor func(tag, key, text string) string

// visit passes every text of a value through a visitor, with the tag of its field.
func visit(v reflect.Value, tagged string, of visitor) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Elem(), tagged, of)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case !field.IsExported() && !field.Anonymous:
			case field.Tag.Get(tag) == "-":
				v.Field(i).SetZero()
			default:
				visit(v.Field(i), field.Tag.Get(tag), of)
			}
		}
	case reflect.Slice, reflect.Array:
		visitList(v, tagged, of)
	case reflect.Map:
		visitMap(v, tagged, of)
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(reflect.ValueOf(visitAny(v.Interface(), tagged, of)))
		}
	case reflect.String:
		if v.Type() != reflect.TypeFor[json.Number]() {
			v.SetString(of(tagged, "", v.String()))
		}
	default: // numbers are on the list
	}
}

func visitList(v reflect.Value, tagged string, of visitor) {
	element := v.Type().Elem().Kind()
	switch raw, is := reflect.TypeAssert[json.RawMessage](v); {
	case is:
		v.SetBytes(visitRaw(raw, tagged, of))
	case element == reflect.String && tagged == "":
		v.SetZero()
	case element == reflect.Int || element == reflect.Int64 || element == reflect.Float64: // there may be many
	default:
		for i := range v.Len() {
			visit(v.Index(i), tagged, of)
		}
	}
}

// visitMap also visits the keys, as words: they may be names of machines.
func visitMap(v reflect.Value, tagged string, of visitor) {
	if v.IsNil() || v.Type().Key().Kind() != reflect.String {
		return
	}
	if v.Type().Elem().Kind() == reflect.String && tagged == "" {
		v.SetZero()
		return
	}
	keys := v.MapKeys()
	// In the order of names, so that the numbers of replacements do not vary.
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	changed := reflect.MakeMapWithSize(v.Type(), len(keys))
	for _, key := range keys {
		element := reflect.New(v.Type().Elem()).Elem()
		element.Set(v.MapIndex(key))
		if element.Kind() == reflect.String {
			element.SetString(of(tagged, key.String(), element.String()))
		} else {
			visit(element, tagged, of)
		}
		changed.SetMapIndex(reflect.ValueOf(of("key", "", key.String())).Convert(key.Type()), element)
	}
	v.Set(changed)
}

// visitAny visits JSON of another program, which has no fields of ours.
func visitAny(value any, tagged string, of visitor) any {
	switch value := value.(type) {
	case map[string]any:
		visitMap(reflect.ValueOf(&value).Elem(), tagged, of)
		return value
	case []any:
		for i := range value {
			value[i] = visitAny(value[i], tagged, of)
		}
		return value
	case string:
		return of(tagged, "", value)
	default:
		return value
	}
}

func visitRaw(raw json.RawMessage, tagged string, of visitor) json.RawMessage {
	var value any
	if err := decode(bytes.NewReader(raw), &value); err != nil {
		return json.RawMessage("null")
	}
	text, err := json.Marshal(visitAny(value, tagged, of))
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// decode keeps numbers as they are written.
func decode(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.UseNumber()
	return decoder.Decode(into)
}

// text returns what goes in of a text with a tag.
func (n *names) text(tagged, key, text string) string {
	switch {
	case text == "" || tagged == "":
		return ""
	case tagged == "word", tagged == "text", tagged == "model":
		if secretName.MatchString(key) {
			return n.name(kindValue, text)
		}
		return n.word(kind(strings.Replace(tagged, "word", string(kindValue), 1)), text)
	case tagged == "key":
		return n.series(text)
	case tagged == "sum":
		return n.matching(sumPattern, text)
	case tagged == "version":
		return n.matching(versionPattern, text)
	case tagged == "letters":
		return n.only(letters, text)
	case tagged == "name":
		return n.only(namePattern, text)
	case tagged == "url":
		return n.url(text)
	case tagged == "image":
		return n.image(text)
	case tagged == "source":
		return n.name(kindHost, text)
	case tagged == "run":
		return n.run(text)
	case tagged == "labels":
		return n.label(key, text)
	case tagged == "flags":
		return n.flag(key, text)
	case tagged == "series":
		return n.seriesLabel(key, text)
	default:
		return n.name(kind(tagged), text)
	}
}

// clean removes from a value what does not go into a pack.
func (n *names) clean(value any) { visit(reflect.ValueOf(value).Elem(), "", n.text) }

// object returns the change of a JSON file that holds a T.
func object[T any](n *names) change {
	return func(from io.Reader, to io.Writer) error {
		var value T
		if err := decode(from, &value); err != nil {
			return err
		}
		n.clean(&value)
		return encode(to, value, "  ")
	}
}

func encode(to io.Writer, value any, indent string) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// lines returns the change of a file with a T in each line. The last line of a run that was killed may be torn, and is
// dropped.
func lines[T any](n *names) change {
	return func(from io.Reader, to io.Writer) error {
		reader := bufio.NewReaderSize(from, 1<<20)
		for number := 1; ; number++ {
			text, err := runfile.ReadLine(reader, nil, longestLine)
			if errors.Is(err, io.EOF) {
				return nil
			}
			var line T
			if err == nil {
				err = decode(bytes.NewReader(text), &line)
			}
			if err == nil {
				n.clean(&line)
				err = encode(to, line, "")
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
	}
}

// longestLine bounds a line of requests: a hundred thousand arrivals are a few megabytes.
const longestLine = 256 << 20

// telemetry changes a telemetry file: a header, then lines.
func (n *names) telemetry(from io.Reader, to io.Writer) error {
	reader := bufio.NewReaderSize(from, 1<<20)
	first, err := runfile.ReadLine(reader, nil, longestLine)
	if err == nil {
		err = lines[telemetry.Header](n)(bytes.NewReader(first), to)
	}
	if err == nil {
		err = lines[telemetry.Line](n)(reader, to)
	}
	if errors.Is(err, io.EOF) { // torn in its header
		return nil
	}
	return err
}

// learn collects the names of machines, people and containers in a manifest, so that no text on the list shows what a
// field beside it hides.
func (n *names) learn(m rundir.Manifest) {
	visit(reflect.ValueOf(&m).Elem(), "", func(tagged, key, text string) string {
		for _, home := range homePattern.FindAllStringSubmatch(text, -1) {
			n.know(kindUser, home[1])
		}
		switch {
		case tagged == "url":
			_, rest, _ := strings.Cut(text, "://")
			host, _ := hostPort(rest)
			n.knowHost(m, host)
		case tagged == string(kindHost), tagged == "labels" && key == string(metric.LabelHost):
			n.knowHost(m, text)
		case tagged == "source" && strings.ContainsAny(text, unusual):
			n.knowHost(m, text)
		case tagged == string(kindContainer) && strings.ContainsAny(text, unusual):
			n.know(kindContainer, text)
			if sumPattern.MatchString(text) { // commands also print short identifiers
				n.know(kindContainer, text[:min(12, len(text))])
			}
		case tagged == "series" && strings.Contains(key, "serial"):
			n.know(kindSerial, text)
		}
		return text
	})
}

// unusual are characters of names that are no common words: a container may be called engine.
const unusual = "0123456789-_."

var homePattern = regexp.MustCompile(`/(?:home|Users|var/home)/([^/\s"':,;]+)`)

// knowHost also knows the first part of spark-1.lab.example. A host that is called as the engine, the arm or the
// scenario is no name of a machine.
func (n *names) knowHost(m rundir.Manifest, name string) {
	if slices.Contains([]string{m.Server.Engine, m.Scenario, m.Labels[string(metric.LabelArm)]}, name) {
		return
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return // found by its form
	}
	n.know(kindHost, name)
	if short, _, more := strings.Cut(name, "."); more {
		n.know(kindHost, short)
	}
}
