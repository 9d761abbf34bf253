package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fullRecord has a value in every field.
func fullRecord(t *testing.T) Record {
	t.Helper()
	var r Record
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1000 + i))
		case reflect.Float64:
			f.SetFloat(1.5)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			if f.Elem().CanInt() {
				f.Elem().SetInt(int64(1000 + i))
			}
		case reflect.Slice:
			for _, n := range []int64{1000, 20, 30} {
				f.Set(reflect.Append(f, reflect.ValueOf(n).Convert(f.Type().Elem())))
			}
		default:
			t.Fatalf("a new kind of field: %s", v.Type().Field(i).Name)
		}
	}
	return r
}

func object(t *testing.T, r Record) map[string]any {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEveryMomentIsShiftedAndNothingElse(t *testing.T) {
	r := fullRecord(t)
	before, after := object(t, r), object(t, r.Shifted(500))
	for name, was := range before {
		want := was
		if number, ok := was.(float64); ok && strings.HasSuffix(name, "_ns") {
			want = number + 500
		}
		if name == "connection_ns" {
			want = was // a duration
		}
		if name == "arrivals_ns" {
			want = []any{1500.0, 20.0, 30.0}
		}
		if !reflect.DeepEqual(after[name], want) {
			t.Errorf("%s is %v, want %v", name, after[name], want)
		}
	}
	if !reflect.DeepEqual(object(t, r), before) {
		t.Error("the record itself was changed")
	}
	if got := (Record{}).Shifted(5); !reflect.DeepEqual(got, Record{IntendedNS: 5}) {
		t.Errorf("what did not happen did: %+v", got)
	}
}
