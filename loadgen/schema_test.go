package loadgen

import (
	"bytes"
	"encoding"
	"encoding/json"
	goflag "flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/publish"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
)

var update = goflag.Bool("update", false, "write the JSON Schemas anew")

// described are the files of a run that have a schema. Of files of lines it is that of a line.
var described = []struct {
	schema, title string
	file          string
	form          string // the file's own name of its form; empty of lines
	value         any
}{
	{"summary", "summary.json", rundir.SummaryFile, summary.Schema, summary.Summary{}},
	{"requests", "A line of requests.jsonl", rundir.RequestsFile, "", openai.Record{}},
	{"manifest", "manifest.json", rundir.ManifestFile, rundir.ManifestSchema, rundir.Manifest{}},
	{"phases", "phases.json", rundir.PhasesFile, rundir.PhasesSchema, rundir.Phases{}},
	{"campaign", "campaign.json", campaign.StateFile, campaign.Schema, campaign.Facts{}},
	{"journal", "A line of journal.jsonl", campaign.JournalFile, "", campaign.Event{}},
	{"notice", "What --notify-url is sent", noticeOutput, campaign.MessageSchema, campaign.Message{}},
	{"progress", "A line of --progress json", progressOutput, runner.ProgressSchema, runner.Progress{}},
	{"check", "What check --json prints", checkOutput, server.CheckSchema, server.Findings{}},
	{"comparison", "What compare --json prints", compareOutput, compare.Schema, compare.Comparison{}},
	{"pack", "pack.json", publish.PackFile, publish.Schema, publish.Pack{}},
	{"conversations", "A line of conversations.jsonl", rundir.ConversationsFile, "", report.Conversation{}},
}

// These stand for what is printed and no file of a run.
const (
	checkOutput    = "check --json"
	compareOutput  = "compare --json"
	noticeOutput   = "--notify-url"
	progressOutput = "--progress json"
)

func schemaPath(name string) string { return filepath.Join("schema", name+".schema.json") }

// TestSchemasAreThoseOfTheTypes keeps the files in the folder schema equal to the Go types, whose
// comments are their descriptions; -update writes them.
func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	comments := readComments(t, ".")
	for _, d := range described {
		g := generator{comments: comments, definitions: map[string]any{}}
		object := g.object(reflect.TypeOf(d.value))
		if d.form != "" {
			object["properties"].(map[string]any)["schema"] = map[string]any{"const": d.form}
		}
		checkSchema(t, d.schema, d.title, object, g.definitions)
	}
}

// checkSchema compares a file of the folder schema with the schema of a type; -update writes it.
func checkSchema(t *testing.T, name, title string, object, definitions map[string]any) {
	t.Helper()
	document := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://github.com/umascope/umascope/loadgen/schema/" + name + ".schema.json",
		"title":   title,
		"$defs":   definitions,
	}
	maps.Copy(document, object)
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		overwrite(t, schemaPath(name), string(text))
	}
	if there, err := os.ReadFile(schemaPath(name)); err != nil || !bytes.Equal(there, text) {
		t.Errorf("%s is not that of its type (%v): run go test ./loadgen -run Schema -update and read what changed", schemaPath(name), err)
	}
}

// generator makes JSON Schemas of Go types as encoding/json writes them.
type generator struct {
	comments    map[string]string
	definitions map[string]any
}

// of is the schema of a type; structs become definitions.
func (g generator) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[openai.Status]():
		return map[string]any{"type": "string", "enum": openai.Statuses()}
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return map[string]any{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Struct:
		return g.reference(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Slice:
		items := g.of(t.Elem())
		if t.Elem().Kind() == reflect.Pointer {
			items = map[string]any{"anyOf": []any{items, map[string]any{"type": "null"}}}
		}
		return map[string]any{"type": "array", "items": items}
	case reflect.Array:
		return map[string]any{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	default:
		return map[string]any{"type": "integer"}
	}
}

func (g generator) reference(t reflect.Type) map[string]any {
	if t.Name() == "" {
		return g.object(t)
	}
	name := strings.ReplaceAll(t.String(), ".", "-")
	if _, made := g.definitions[name]; !made {
		g.definitions[name] = nil // so that a type may contain itself
		g.definitions[name] = g.object(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// object is the schema of a struct. What has no omitempty is always there; then nil is null.
func (g generator) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema := g.of(field.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
			if field.Type.Kind() == reflect.Pointer {
				schema = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
			}
		}
		if text := g.comments[declaring(t, field).String()+"."+field.Name]; text != "" {
			schema["description"] = text
		}
		properties[name] = schema
	}
	slices.Sort(required)
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	if text := g.comments[t.String()]; text != "" {
		schema["description"] = text
	}
	return schema
}

// declaring is the struct that a field stands in, which may be embedded.
func declaring(t reflect.Type, field reflect.StructField) reflect.Type {
	for _, i := range field.Index[:len(field.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// readComments reads the comments of types and fields in all packages below a folder, by package.Type and
// package.Type.Field.
func readComments(t *testing.T, folder string) map[string]string {
	t.Helper()
	comments := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil {
			fileComments(file, comments)
		}
		return err
	})
	if err != nil || len(comments) == 0 {
		t.Fatalf("no comments below %s: %v", folder, err)
	}
	return comments
}

func fileComments(file *ast.File, comments map[string]string) {
	oneLine := func(groups ...*ast.CommentGroup) string {
		var text []string
		for _, group := range groups {
			text = append(text, strings.Fields(group.Text())...)
		}
		return strings.Join(text, " ")
	}
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			declared := spec.(*ast.TypeSpec)
			name := file.Name.Name + "." + declared.Name.Name
			comments[name] = oneLine(general.Doc, declared.Doc)
			structure, ok := declared.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range structure.Fields.List {
				for _, ident := range field.Names {
					comments[name+"."+ident.Name] = oneLine(field.Doc, field.Comment)
				}
			}
		}
	}
}

// validators compiles the schemas of the tree.
func validators(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	compiled := map[string]*jsonschema.Schema{}
	for _, d := range described {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		schema, err := compiler.Compile(schemaPath(d.schema))
		if err != nil {
			t.Fatal(err)
		}
		compiled[d.file] = schema
	}
	return compiled
}

// documents are the JSON values of a file: one, or one a line.
func documents(t *testing.T, path string) []any {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var values []any
	decoder := json.NewDecoder(file)
	decoder.UseNumber()
	for decoder.More() {
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

func TestTheFilesOfRunsKeepTheirSchemas(t *testing.T) {
	t.Parallel()
	schemas := validators(t)
	url := engine(t, 200*time.Microsecond)
	page, _ := exporter(t)
	for name, args := range map[string][]string{
		"conversations": {"--scenario=multi_turn", "--prompts", conversationFile(t), "--save-outputs"},
		"open loop":     {"--arrival=poisson", "--rate=200", "--slo=ttft=1s", "--label=note=x"},
		"telemetry":     {"--telemetry=spark1=" + page, "--telemetry-interval=100ms", "--label=host=spark1"},
		"failures":      {"--request-timeout=1ms", "--output-tokens=64"},
		"whole answers": {"--no-stream", "--extra-body={\"seed\":1}"},
		"two servers":   {"--url", engine(t, 200*time.Microsecond)},
	} {
		t.Run(name, func(t *testing.T) {
			args = slices.Concat([]string{"--url", url, "--requests=4", "--warmup=2", "--engine=vllm", "--conversations"}, args)
			code, dir, stdout, stderr := invoke(t, t.Context(), args...)
			if code != exitDone && code != exitInvalid {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			for file, schema := range schemas {
				if slices.Contains([]string{checkOutput, compareOutput, noticeOutput, progressOutput, publish.PackFile, campaign.StateFile, campaign.JournalFile}, file) {
					continue
				}
				for _, value := range documents(t, filepath.Join(dir, file)) {
					if err := schema.Validate(value); err != nil {
						t.Errorf("%s: %v", file, err)
					}
				}
			}
		})
	}
}

func TestASchemaRefusesWhatIsNoRun(t *testing.T) {
	schemas := validators(t)
	for file, text := range map[string]string{
		rundir.SummaryFile:  `{"schema":"umascope.summary/2"}`,
		rundir.RequestsFile: `{"run":"r","status":"fine"}`,
		rundir.ManifestFile: `[]`,
		rundir.PhasesFile:   `{"schema":"umascope.phases/1","phases":[],"more":1}`,
		checkOutput:         `{"schema":"umascope.check/1","url":"http://127.0.0.1"}`,
		compareOutput:       `{"schema":"umascope.comparison/2","by":"arm","baseline":"native","strata":[]}`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if schemas[file].Validate(value) == nil {
			t.Errorf("%s takes %s", file, text)
		}
	}
}
