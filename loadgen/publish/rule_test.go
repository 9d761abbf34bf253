package publish

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// leaf is a member that has no members.
type leaf struct {
	path   string
	isText bool
}

// leaves are those of a type as encoding/json writes it.
func leaves(t reflect.Type, path string) []leaf {
	text := reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()
	switch {
	case t == reflect.TypeFor[time.Time](), t.Implements(text) && t.Kind() != reflect.Pointer:
		return []leaf{{path, true}}
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return []leaf{{path, true}}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return leaves(t.Elem(), path)
	case reflect.Map:
		return leaves(t.Elem(), path+".*")
	case reflect.Struct:
		var all []leaf
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
				continue
			}
			if name == "" {
				name = field.Name
			}
			all = append(all, leaves(field.Type, strings.TrimPrefix(path+"."+name, "."))...)
		}
		return all
	default:
		return []leaf{{path, t.Kind() == reflect.String}}
	}
}

// ruled says whether a table keeps a member.
func ruled(t *table, l leaf) bool {
	figures := false
	for _, key := range strings.Split(l.path, ".") {
		child := t.children[key]
		if child == nil {
			child = t.children["*"]
		}
		if child == nil {
			return figures && !l.isText
		}
		t = child
		if t.rule != nil {
			figures = t.rule.figures
			if t.rule.all != nil {
				return true
			}
		}
	}
	return t.rule != nil && t.rule.text != nil || figures && !l.isText
}

// TestEveryMemberOfARunsFilesIsRuled fails for a field that is new: whoever adds one says here whether it
// may be told.
func TestEveryMemberOfARunsFilesIsRuled(t *testing.T) {
	for name, c := range map[string]struct {
		of    any
		rules rules
	}{
		rundir.ManifestFile: {rundir.Manifest{}, manifestRules()},
		rundir.SummaryFile:  {summary.Summary{}, summaryRules()},
		rundir.PhasesFile:   {rundir.Phases{}, phasesRules()},
	} {
		all := leaves(reflect.TypeOf(c.of), "")
		if len(all) < 3 {
			t.Fatalf("%s: %d members", name, len(all))
		}
		for _, l := range all {
			if !ruled(c.rules.table(), l) {
				t.Errorf("%s: %s: give it a rule in manifest.go; withheld is one", name, l.path)
			}
		}
	}
}

func TestEveryRuleIsOfAMember(t *testing.T) {
	for name, c := range map[string]struct {
		of    any
		rules rules
	}{
		rundir.ManifestFile: {rundir.Manifest{}, manifestRules()},
		rundir.SummaryFile:  {summary.Summary{}, summaryRules()},
		rundir.PhasesFile:   {rundir.Phases{}, phasesRules()},
	} {
		all := leaves(reflect.TypeOf(c.of), "")
		for path := range c.rules {
			of := func(l leaf) bool { return matches(path, l.path) }
			if !slices.ContainsFunc(all, of) {
				t.Errorf("%s: a rule of %s, which is not there", name, path)
			}
		}
	}
}

// matches says whether a rule is of a member or of one above it; the names of signals are any key.
func matches(rule, member string) bool {
	want, got := strings.Split(rule, "."), strings.Split(member, ".")
	if len(want) > len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && want[i] != "*" {
			return false
		}
	}
	return true
}

func TestMembersWithoutARuleAreLeftOut(t *testing.T) {
	table := rules{"a": figures, "a.b": texts, "list.name": texts, "any.*": texts}.table()
	var out strings.Builder
	in := `{"a":{"n":1,"b":"x","c":"secret","deep":[{"k":2,"s":"secret"}]},"list":[{"name":"x","more":"secret"}],"any":{"k":"x"},"new":{"s":"secret"},"n":null}`
	if err := newCleaner(nil, nil).json(strings.NewReader(in), &out, table); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"a":{"n":1,"b":"x","deep":[{"k":2}]},"list":[{"name":"x"}],"any":{"k":"x"}}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error(out.String())
	}
}

func TestEveryLabelOfTheVocabularyIsJudged(t *testing.T) {
	// These say what was measured; a new label is added here, or is given a kind.
	replacements := []metric.Label{
		metric.LabelArch, metric.LabelArchitecture, metric.LabelArm, metric.LabelBaseline, metric.LabelCPU, metric.LabelCUDAVersion,
		metric.LabelCall, metric.LabelCandidate, metric.LabelChip, metric.LabelCollector, metric.LabelComm, metric.LabelComparison,
		metric.LabelComputeInst, metric.LabelController, metric.LabelDevice, metric.LabelDirection, metric.LabelDriver, metric.LabelEnd, metric.LabelEngine,
		metric.LabelEvent, metric.LabelEvidence, metric.LabelFirmware, metric.LabelFormat, metric.LabelFrom, metric.LabelGDSVersion, metric.LabelGPU, metric.LabelGPUInst,
		metric.LabelGoVersion, metric.LabelInterface, metric.LabelJob, metric.LabelKernel, metric.LabelKind, metric.LabelLE, metric.LabelLevel,
		metric.LabelLimit, metric.LabelLine, metric.LabelLink, metric.LabelMetric, metric.LabelMinBlock, metric.LabelMode, metric.LabelModel,
		metric.LabelName, metric.LabelNeeds, metric.LabelOp, metric.LabelPCIBusID, metric.LabelPID, metric.LabelPhase, metric.LabelPort, metric.LabelPosition,
		metric.LabelProduct, metric.LabelProfile, metric.LabelReason, metric.LabelResource, metric.LabelResult, metric.LabelRevision, metric.LabelRun,
		metric.LabelRuntime, metric.LabelScenario, metric.LabelSensor, metric.LabelSetting, metric.LabelState, metric.LabelStatus, metric.LabelTier,
		metric.LabelTo, metric.LabelTrip, metric.LabelType, metric.LabelVBIOS, metric.LabelVendor, metric.LabelVerdict, metric.LabelVersion,
		metric.LabelXID, metric.LabelZone, metric.LabelModelName, metric.LabelFinishedReason, metric.LabelAlertName, metric.LabelAlertState,
		metric.LabelSeverity, metric.LabelCode, metric.LabelComparedBy, metric.LabelGrade, metric.LabelItem, metric.LabelMoment, metric.LabelOrder, metric.LabelSignal,
	}
	for name := range vocabulary() {
		_, named := kindOfLabel()[metric.Label(name)]
		if name != "__name__" && named == slices.Contains(replacements, metric.Label(name)) {
			t.Errorf("%s: judged neither or both ways", name)
		}
	}
}
