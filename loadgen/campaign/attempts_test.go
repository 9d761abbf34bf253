package campaign

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

func TestEveryRunOfEverySlotIsListedWithItsReason(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.campaign(parsed(t, short+"on_invalid: {repeat: 1}\n"))
		ctx, interrupt := context.WithCancel(t.Context())
		w.result = func(o Order) Result {
			switch {
			case o.Slot.Number == 1 && o.Attempt == 1:
				return Result{Status: Invalid, Problem: "check_failed"}
			case o.Slot.Number == 2:
				return Result{Status: Failed, Problem: "no answer"}
			default:
				return Result{Status: Finished}
			}
		}
		w.during = func(_ context.Context, o Order) {
			if o.Slot.Number == 3 {
				interrupt()
			}
		}
		w.mustRun(ctx, c)
		name, all, err := ReadAttempts(w.dir)
		if err != nil || name != "c" {
			t.Fatal(name, err)
		}
		var got []string
		for _, a := range all {
			got = append(got, fmt.Sprintf("%d %s %d %t %s %s", a.Slot.Number, a.Arm, a.Number, a.Run != "", a.Status, a.Problem))
		}
		want := []string{
			"1 a 1 true invalid check_failed", "1 a 2 true finished ", "2 b 1 true failed no answer", "2 b 2 true failed no answer",
			"3 b 1 true aborted interrupted", "4 a 0 false pending ",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
