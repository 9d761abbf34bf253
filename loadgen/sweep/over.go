package sweep

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The parameters that may differ from point to point.
const (
	OverConcurrency = "concurrency"
	OverRate        = "rate"
	OverShape       = "shape"
	overSetPrefix   = "set." // before the name of a size of the scenario
)

// Limits of --over.
const (
	mostPoints = 100
	mostLoad   = 1e6
)

// Over is the parameter that differs from point to point, and its values.
type Over struct {
	// Name is concurrency, rate, shape or set.KEY.
	Name  string
	items []overItem
}

// Value is the value of one point.
type Value struct {
	// Text is the value in the format of a flag.
	Text string
	// Load is the value as a number: requests in flight, requests a second or the scenario's size. It is 0 for a shape
	// and for a size that is not a number.
	Load float64
}

// overItem is a value, or a range of numbers.
type overItem struct {
	text      string // of a single value
	low, high float64
	step      float64 // added from one to the next; 0 means the default, 1
	factor    float64 // or multiplied; 0 means no factor
}

// ParseOver reads NAME=LIST. An item of the list is a value, or a range: A..B by ones, A..B+STEP,
// A..BxFACTOR, or of shapes T1..T6.
//
//	concurrency=1,4,8,16
//	concurrency=1..64x2
//	rate=0.5..4+0.5
//	shape=T1..T6
//	set.a.requests=8,24
func ParseOver(text string) (Over, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || !knownOver(name) {
		return Over{}, fmt.Errorf("%q: want concurrency=LIST, rate=LIST, shape=LIST or set.KEY=LIST", text)
	}
	o := Over{Name: name}
	for part := range strings.SplitSeq(list, ",") {
		items, err := o.parse(part)
		if err != nil {
			return Over{}, fmt.Errorf("%s: %w", name, err)
		}
		o.items = append(o.items, items...)
	}
	return o, nil
}

func knownOver(name string) bool {
	key, isSize := strings.CutPrefix(name, overSetPrefix)
	if isSize {
		return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`).MatchString(key)
	}
	return slices.Contains([]string{OverConcurrency, OverRate, OverShape}, name)
}

func (o Over) parse(part string) ([]overItem, error) {
	low, rest, isRange := strings.Cut(part, "..")
	switch {
	case o.Name == OverShape:
		return parseShapes(part)
	case isRange:
		i, err := o.parseRange(low, rest)
		if err != nil {
			err = fmt.Errorf("%q: %w", part, err)
		}
		return []overItem{i}, err
	case o.size():
		if part == "" {
			return nil, errors.New("an empty value")
		}
		return []overItem{{text: part}}, nil
	}
	_, err := o.number(part)
	return []overItem{{text: part}}, err
}

// size reports whether a size of the scenario differs; the scenario checks its values.
func (o Over) size() bool { return strings.HasPrefix(o.Name, overSetPrefix) }

// whole reports whether values are whole numbers.
func (o Over) whole() bool { return o.Name == OverConcurrency }

// decimalLoad is the format of numbers: without sign and exponent, since + and x have another meaning.
var decimalLoad = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,9})?$`)

// number parses a load.
func (o Over) number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !decimalLoad.MatchString(text):
		return 0, fmt.Errorf("%q is no number", text)
	case v <= 0 || v > mostLoad:
		return 0, fmt.Errorf("%s is not above 0 and at most %d", text, int(mostLoad))
	case o.whole() && v != float64(int(v)):
		return 0, fmt.Errorf("%s is no whole number", text)
	}
	return v, nil
}

// parseRange reads the parts around the dots of A..B, A..B+STEP and A..BxFACTOR.
func (o Over) parseRange(low, rest string) (overItem, error) {
	at := strings.IndexAny(rest, "+x")
	high, by := rest, ""
	if at >= 0 {
		high, by = rest[:at], rest[at+1:]
	}
	var i overItem
	var err error
	if i.low, err = o.number(low); err != nil {
		return overItem{}, err
	}
	if i.high, err = o.number(high); err != nil {
		return overItem{}, err
	}
	if i.high <= i.low {
		return overItem{}, errors.New("the second number must be the higher one")
	}
	if at < 0 {
		return i, nil
	}
	if rest[at] == '+' {
		i.step, err = o.number(by)
		return i, err
	}
	i.factor, err = Over{Name: OverRate}.number(by) // 1.5 is also a factor of whole numbers
	if err == nil && i.factor < 1.01 {
		err = fmt.Errorf("x%s is not 1.01 or more", by)
	}
	return i, err
}

// Points returns the values in the given order, which is the order of measurement.
func (o Over) Points() ([]Value, error) {
	var values []Value
	for _, i := range o.items {
		more, err := o.expand(i)
		if err != nil {
			return nil, err
		}
		values = append(values, more...)
	}
	for at, v := range values {
		if slices.ContainsFunc(values[:at], func(other Value) bool { return other.Text == v.Text || v.Load != 0 && other.Load == v.Load }) {
			return nil, fmt.Errorf("%s is there twice", v.Text)
		}
	}
	if len(values) > mostPoints {
		return nil, fmt.Errorf("more than %d points", mostPoints)
	}
	return values, nil
}

// expand returns the values of an item.
func (o Over) expand(i overItem) ([]Value, error) {
	if i.text != "" {
		v := Value{Text: i.text}
		if load, err := strconv.ParseFloat(i.text, 64); err == nil && o.Name != OverShape && decimalLoad.MatchString(i.text) {
			v.Load = load
		}
		return []Value{v}, nil
	}
	var values []Value
	for n := range mostPoints + 1 {
		load := i.at(n, o.whole())
		if load > i.high*(1+1e-9) {
			return values, nil
		}
		v := valueOf(load)
		if len(values) == 0 || values[len(values)-1].Text != v.Text {
			values = append(values, v)
		}
	}
	return nil, fmt.Errorf("more than %d points from %s to %s", mostPoints, valueOf(i.low).Text, valueOf(i.high).Text)
}

// at returns the n-th number of a range.
func (i overItem) at(n int, whole bool) float64 {
	if i.factor != 0 {
		load := i.low
		for range n {
			load *= i.factor
		}
		if whole {
			return float64(int(load + 0.5))
		}
		return load
	}
	if i.step == 0 {
		return i.low + float64(n)
	}
	return i.low + float64(n)*i.step
}

// overValue formats a load with six significant digits at most, finer than any useful rate.
func valueOf(load float64) Value {
	text := strconv.FormatFloat(load, 'g', 6, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil {
		rounded = load
	}
	return Value{Text: strconv.FormatFloat(rounded, 'f', -1, 64), Load: rounded}
}

// Ends returns the two ends that a search looks between: those of one range without a step.
func (o Over) Ends() (low, high float64, err error) {
	if o.Name != OverConcurrency && o.Name != OverRate {
		return 0, 0, fmt.Errorf("%s is no load", o.Name)
	}
	if len(o.items) != 1 || o.items[0].text != "" || o.items[0].step != 0 || o.items[0].factor != 0 {
		return 0, 0, fmt.Errorf("want two ends, such as --over %s=1..256", o.Name)
	}
	return o.items[0].low, o.items[0].high, nil
}
