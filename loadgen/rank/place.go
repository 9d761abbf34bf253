// Package rank knows which part of a load is a process's own when several share it: its place among
// them, what of the plan it sends, when all of them begin, and how far its machine's clock may be off.
//
// No process talks to another. Each computes the same plan from the same flags and sends the requests
// that fall to it, counted from one moment on the wall clock.
package rank

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxWorld bounds how many processes share a load. It is what a Kubernetes Indexed Job may have.
const MaxWorld = 100_000

// Place is that of a process among those that share a load. The zero value is that of one that shares
// it with nobody.
type Place struct {
	// Rank is 0 to World-1.
	Rank int `json:"rank"`
	// World is how many processes there are.
	World int `json:"world"`
	// Source names the flags or the variables of the environment that said so.
	Source string `json:"source,omitempty"`
}

// Alone says whether the whole load is this process's.
func (p Place) Alone() bool { return p.World <= 1 }

// Takes says whether the request, or the client, with this index is sent by this process: they are dealt
// out in turn, as cards are. Of an open process this is exact for every distribution of the gaps. A
// rate of 1/World on every rank would be so for Poisson alone.
func (p Place) Takes(index int) bool { return p.Alone() || index%p.World == p.Rank }

// Share is how many of n things fall to this process: n/World, rounded up for the first ranks and down
// for the others, so that the shares add up to n.
func (p Place) Share(n int) int {
	if p.Alone() {
		return n
	}
	return (n + p.World - 1 - p.Rank) / p.World
}

// Run is the name of this process's part of a run, such as ID-rank2of4.
func (p Place) Run(id string) string {
	if p.Alone() {
		return id
	}
	return fmt.Sprintf("%s-rank%dof%d", id, p.Rank, p.World)
}

// String is the place in words, with where it is from.
func (p Place) String() string {
	if p.Source == "" {
		return fmt.Sprintf("rank %d of %d", p.Rank, p.World)
	}
	return fmt.Sprintf("rank %d of %d, by %s", p.Rank, p.World, p.Source)
}

// Given is what the command line says of a place; nil is nothing.
type Given struct{ Rank, World *int }

// launcher is what starts processes and tells each its place in variables of its environment.
type launcher struct{ rank, world string }

// launchers are in the order in which they are asked: mpirun inside a Slurm allocation leaves Slurm's
// variables as they are in the allocation's first task, and its own are the ones that count.
//
//	Open MPI    OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE (docs.open-mpi.org, tuning-apps/environment-var)
//	MPICH       PMI_RANK, PMI_SIZE (the process manager Hydra, and srun --mpi=pmi2)
//	Slurm       SLURM_PROCID, SLURM_NTASKS (srun(1), output environment variables)
//	Kubernetes  JOB_COMPLETION_INDEX of an Indexed Job, which does not say how many there are
func launchers() []launcher {
	return []launcher{
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMI_RANK", "PMI_SIZE"},
		{"SLURM_PROCID", "SLURM_NTASKS"},
		{"JOB_COMPLETION_INDEX", ""},
	}
}

// Variables are those of the environment that Find reads.
func Variables() []string {
	var names []string
	for _, l := range launchers() {
		names = append(names, l.rank)
		if l.world != "" {
			names = append(names, l.world)
		}
	}
	return names
}

// Find is the place by the flags and, for what they leave open, by the first launcher whose variables
// are there; without either the process is alone. lookup is os.LookupEnv or stands for it. A rank
// without a world is refused: to send the whole load once for each process is what nobody means.
func Find(given Given, lookup func(string) (string, bool)) (Place, error) {
	if given.Rank != nil && given.World != nil {
		return Place{*given.Rank, *given.World, "--rank and --world"}.checked()
	}
	for _, l := range launchers() {
		if value, ok := lookup(l.rank); ok && value != "" {
			return l.place(given, lookup)
		}
	}
	switch {
	case given.Rank != nil:
		return Place{}, errors.New("--rank: add --world, the number of processes that share the load")
	case given.World != nil && *given.World != 1:
		return Place{}, fmt.Errorf("--world: add --rank, or start by a launcher that sets one of %s", strings.Join(Variables(), ", "))
	}
	return Place{World: 1}, nil
}

// place completes what the command line says by the launcher's variables.
func (l launcher) place(given Given, lookup func(string) (string, bool)) (Place, error) {
	rank, rankFrom, err := read(given.Rank, "--rank", l.rank, lookup)
	if err != nil {
		return Place{}, err
	}
	world, worldFrom, err := read(given.World, "--world", l.world, lookup)
	if err != nil {
		return Place{}, err
	}
	if world == nil {
		return Place{}, fmt.Errorf("--world: %s says that this is rank %d, and nothing of how many; say --world N, or --rank 0 --world 1 for a run of its own", rankFrom, *rank)
	}
	return Place{*rank, *world, rankFrom + " and " + worldFrom}.checked()
}

// read is a number as the flag has it, or else the variable; nil if neither does. The two must not
// differ: one of them was meant for something else.
func read(given *int, flag, variable string, lookup func(string) (string, bool)) (value *int, from string, err error) {
	text, ok := lookup(variable)
	if variable == "" || !ok || text == "" {
		return given, flag, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, "", fmt.Errorf("%s: %q is not a whole number of 0 or more; say --rank and --world", variable, shortened(text))
	}
	if given != nil && *given != n {
		return nil, "", fmt.Errorf("%s: %d, but %s is %d; say --rank and --world both if that is meant", flag, *given, variable, n)
	}
	return &n, variable, nil
}

// longestQuoted bounds what an error repeats of the environment.
const longestQuoted = 32

func shortened(text string) string { return text[:min(len(text), longestQuoted)] }

// checked refuses a place that cannot be.
func (p Place) checked() (Place, error) {
	switch {
	case p.World < 1 || p.World > MaxWorld:
		return Place{}, fmt.Errorf("--world: %d is not a number from 1 to %d (by %s)", p.World, MaxWorld, p.Source)
	case p.Rank < 0 || p.Rank >= p.World:
		return Place{}, fmt.Errorf("--rank: there is no rank %d in a world of %d (by %s); ranks count from 0", p.Rank, p.World, p.Source)
	}
	return p, nil
}
