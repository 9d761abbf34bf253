package loadgen

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

const planSchemaName = "plan"

// TestThePlanSchemaIsThatOfTheType keeps the schema that editors check a plan by equal to the type that reads
// it; go test ./loadgen -run Schema -update writes it.
func TestThePlanSchemaIsThatOfTheType(t *testing.T) {
	g := planGenerator{comments: readComments(t, "campaign/plan"), definitions: map[string]any{}}
	checkSchema(t, planSchemaName, "A plan of a campaign", g.object(reflect.TypeFor[plan.Plan]()), g.definitions)
}

// planGenerator makes a JSON Schema of what a plan file may have: by the tags yaml, is and one.
type planGenerator struct {
	comments    map[string]string
	definitions map[string]any
}

// planText is a text of a plan: whatever is no list and no mapping.
func planText() map[string]any { return map[string]any{"type": []any{"string", "number", "boolean"}} }

func planList(of any) map[string]any { return map[string]any{"type": "array", "items": of} }

func (g planGenerator) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "" {
			continue
		}
		is := strings.Fields(f.Tag.Get("is"))
		schema := g.of(f.Type, is, strings.Fields(f.Tag.Get("one")))
		if description := g.comments[t.String()+"."+f.Name]; description != "" {
			schema["description"] = description
		}
		properties[name] = schema
		if slices.Contains(is, "required") {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false, "description": g.comments[t.String()]}
	if len(required) > 0 {
		slices.Sort(required)
		schema["required"] = required
	}
	return schema
}

func (g planGenerator) of(t reflect.Type, is, one []string) map[string]any {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`}
	case reflect.TypeFor[plan.Bytes]():
		return map[string]any{"type": []any{"string", "integer"}, "pattern": `^[0-9][0-9.eE+]* ?([KMGT]iB|[kMGT]?B)$|^0$`, "maximum": 0}
	case reflect.TypeFor[plan.Hertz]():
		return map[string]any{"type": "string", "pattern": `^[0-9.eE+]+ ?[MG]Hz$`}
	case reflect.TypeFor[plan.Ratio]():
		return map[string]any{"type": []any{"string", "number"}, "pattern": `^[0-9.eE+]+ ?%?$`}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), is, one)
	case reflect.Struct:
		name := t.Name()
		if _, made := g.definitions[name]; !made {
			g.definitions[name] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		return planList(g.of(t.Elem(), is, one))
	case reflect.Map:
		value := map[string]any{"anyOf": []any{planText(), map[string]any{"type": "null"}}}
		if slices.Contains(is, "flags") || slices.Contains(is, "values") {
			value["anyOf"] = append(value["anyOf"].([]any), planList(planText()))
		}
		return map[string]any{"type": "object", "additionalProperties": value}
	case reflect.String:
		if len(one) > 0 {
			return map[string]any{"enum": one}
		}
		return planText()
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	default:
		return map[string]any{"type": "integer", "minimum": 0}
	}
}

// schemaOfPlans is what the schema says of a plan file.
func schemaOfPlans(t *testing.T, text []byte) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaPath(planSchemaName))
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := yaml.Load(text, &value); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(document)); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func TestEveryReadyPlanKeepsTheSchema(t *testing.T) {
	for _, name := range plan.ReadyNames() {
		text, err := plan.ReadyText(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemaOfPlans(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheSchemaOfAPlanRefusesWhatItsReaderRefuses: what an editor marks is what the program would say.
func TestTheSchemaOfAPlanRefusesWhatItsReaderRefuses(t *testing.T) {
	const good = "schema: umascope.plan/1\nmodels: [{name: a}]\narms: [{name: a}]\nscenarios: [{name: a, run: {requests: 64, set: [a=1, b=2]}}]\n"
	for text, refused := range map[string]bool{
		good:                                                       false,
		good + "gates: {mem_free: 1.5GiB}\n":                       false,
		good + "gates: {cooldown: 1m30s}\n":                        false,
		good + "gates: {mem_free: 0}\n":                            false,
		good + "gates: {cpu_ratio: 0.1}\n":                         false,
		good + "gates: {cpu_ratio: 10%}\n":                         false,
		good + "gates: {cpu_ratio: ten}\n":                         true,
		good + "clocks: {lock: 1500MHz}\n":                         false,
		good + "clocks: {lock: 1500}\n":                            true,
		good + "gates: {mem_free: 60}\n":                           true,
		good + "gates: {cooldown: 5}\n":                            true,
		good + "gates: {cooldwon: 5m}\n":                           true,
		good + "order: baab\n":                                     true,
		good + "iterations: -1\n":                                  true,
		good + "keep_up: 1\n":                                      true,
		good + "page_cache: evict\n":                               true,
		good + "telemetry: {a: b}\n":                               true,
		strings.Replace(good, "/1", "/2", 1):                       true,
		strings.Replace(good, "arms", "a", 1):                      true,
		strings.Replace(good, "set: [a=1, b=2]", "set: {a: 1}", 1): true,
	} {
		_, read := plan.Parse("plan.yaml", []byte(text))
		if err := schemaOfPlans(t, []byte(text)); (err != nil) != refused || (read != nil) != refused {
			t.Errorf("%s\nthe schema says %v, the reader %v", text, err, read)
		}
	}
}
