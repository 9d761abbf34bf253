package demo

import "github.com/umascope/umascope/exporter/metric"

// turn is one run of the programme, by its number from 0 on.
//
// Every scenario has blocks of native, container, container, native, so that drift cancels. The scenarios take turns,
// one of them with the arms the other way round: two runs in sequence differ in both, and a quarter of an hour has
// every arm and every scenario.
type turn struct {
	number   int
	scenario string
	arm      arm
}

// The scenarios of the programme, by uma-load's names.
const (
	scenarioStandard = "standard"
	scenarioEviction = "eviction_replay"
)

// cycle is the number of turns with one whole block of each scenario; half of it has a run of each arm of each
// scenario.
const cycle = 8

// turnOf returns the turn with a number.
func turnOf(number int) turn {
	t := turn{number: number, scenario: scenarioStandard, arm: nativeArm()}
	place := number % cycle / 2 // in the block of its scenario
	inContainer := place == 1 || place == 2
	if number%2 == 1 {
		t.scenario = scenarioEviction
		inContainer = !inContainer
	}
	if inContainer {
		t.arm = containerArm()
	}
	// Arms that share a machine must begin alike to be compared; the campaigns of the demo show the effect of not doing
	// so.
	t.arm.dropsCaches = true
	return t
}

// compares reports whether the arms are compared after a turn: when each has as many runs of a scenario as the other.
func (t turn) compares() bool { return t.number%(cycle/2) == cycle/2-1 }

// baselineArm is the arm with which the others are compared.
const baselineArm = metric.ArmNative
