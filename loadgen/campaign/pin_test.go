package campaign

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// TestTheModelOfTheFirstRunIsThatOfAllAfterIt: a plan that names no model takes what its first run found.
func TestTheModelOfTheFirstRunIsThatOfAllAfterIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := parsed(t, "iterations: 2\non_invalid: {repeat: 0, stop_after: 9}\n")
		p.Models = append(p.Models, plan.Model{Name: "n"})
		var pinned []string
		w.result = func(o Order) Result {
			pinned = append(pinned, o.Slot.Model+" "+o.Pinned)
			if len(pinned) == 1 {
				return Result{Status: Failed, Problem: "no answer"}
			}
			return Result{Status: Invalid, Served: "served-" + o.Slot.Model}
		}
		part := w.campaign(p)
		part.Only = plan.Filter{Iterations: 1}
		w.mustRun(t.Context(), part)
		if _, err := w.run(t.Context(), w.campaign(p)); err != nil { // the journal has it
			t.Fatal(err)
		}
		want := []string{"m ", "m ", "n ", "n served-n", "m served-m", "m served-m", "n served-n", "n served-n"}
		if !slices.Equal(pinned, want) {
			t.Errorf("%q, want %q", pinned, want)
		}
	})
}

func TestAModelThatThePlanNamesIsNotPinned(t *testing.T) {
	for _, named := range []string{"flags: {model: x}\n", "", "in the scenario"} {
		inWorld(t, func(t *testing.T, w *world) {
			p := parsed(t, "iterations: 1\n")
			switch named {
			case "":
				p.Arms[1].Flags = map[string]string{"model": "x"} // of b alone
			case "in the scenario":
				p.Scenarios[0].Run["model"] = "x"
			default:
				p.Flags = map[string]string{"model": "x"}
			}
			w.result = func(o Order) Result {
				if o.Pinned != "" {
					t.Errorf("%q: pinned to %s", named, o.Pinned)
				}
				return Result{Status: Finished, Served: "y"}
			}
			if _, err := w.run(t.Context(), w.campaign(p)); err != nil {
				t.Error(err)
			}
		})
	}
}
