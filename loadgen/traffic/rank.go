package traffic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxWorld is the most processes that share a load, the limit of a Kubernetes Indexed Job.
const MaxWorld = 100_000

// Place is the rank of a process among those that share a load. The zero value is a process that sends the whole load.
type Place struct {
	// Rank is 0 to World-1.
	Rank int `json:"rank"`
	// World is the number of processes.
	World int `json:"world"`
	// Source names the flags or the environment variables that the rank came from.
	Source string `json:"source,omitempty" pack:"word"`
}

// Alone reports whether this process sends the whole load.
func (p Place) Alone() bool { return p.World <= 1 }

// Takes reports whether this process sends the request, or drives the client, with this index: they are dealt out in
// turn. For an open process this is exact for every distribution of the gaps. A rate of 1/World on every rank would be
// exact for Poisson only.
func (p Place) Takes(index int) bool { return p.Alone() || index%p.World == p.Rank }

// Share returns how many of n items this process takes: n/World, rounded up for the first ranks and down for the
// others, so that the shares add up to n.
func (p Place) Share(n int) int {
	if p.Alone() {
		return n
	}
	return (n + p.World - 1 - p.Rank) / p.World
}

// Run returns the name of this process's part of a run, such as ID-rank2of4.
func (p Place) Run(id string) string {
	if p.Alone() {
		return id
	}
	return fmt.Sprintf("%s-rank%dof%d", id, p.Rank, p.World)
}

// String returns the rank in words, with its source.
func (p Place) String() string {
	if p.Source == "" {
		return fmt.Sprintf("rank %d of %d", p.Rank, p.World)
	}
	return fmt.Sprintf("rank %d of %d, by %s", p.Rank, p.World, p.Source)
}

// RankFlags holds the rank and world of the command line; nil if a flag is not given.
type RankFlags struct{ Rank, World *int }

// launcher is a program that starts processes and passes each its rank in environment variables.
type launcher struct{ rank, world string }

// launchers returns the launchers in the order in which they are tried: mpirun inside a Slurm allocation keeps Slurm's
// variables of the allocation's first task, and mpirun's own variables are the correct ones.
//
//	Open MPI    OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE (docs.open-mpi.org, tuning-apps/environment-var)
//	MPICH       PMI_RANK, PMI_SIZE (the process manager Hydra, and srun --mpi=pmi2)
//	Slurm       SLURM_PROCID, SLURM_NTASKS (srun(1), output environment variables)
//	Kubernetes  JOB_COMPLETION_INDEX of an Indexed Job, which has no variable for the number of processes
func launchers() []launcher {
	return []launcher{
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMI_RANK", "PMI_SIZE"},
		{"SLURM_PROCID", "SLURM_NTASKS"},
		{"JOB_COMPLETION_INDEX", ""},
	}
}

// RankVariables returns the environment variables that FindRank reads.
func RankVariables() []string {
	var names []string
	for _, l := range launchers() {
		names = append(names, l.rank)
		if l.world != "" {
			names = append(names, l.world)
		}
	}
	return names
}

// FindRank returns the rank from the flags and, for values that they leave open, from the first launcher whose variables
// are set. Without either, the process sends the whole load. lookup is os.LookupEnv, or a replacement in tests. Find
// refuses a rank without a world: every process would send the whole load.
func FindRank(given RankFlags, lookup func(string) (string, bool)) (Place, error) {
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
		return Place{}, fmt.Errorf("--world: add --rank, or start by a launcher that sets one of %s", strings.Join(RankVariables(), ", "))
	}
	return Place{World: 1}, nil
}

// place completes the flags with the launcher's variables.
func (l launcher) place(given RankFlags, lookup func(string) (string, bool)) (Place, error) {
	rank, rankFrom, err := rankValue(given.Rank, "--rank", l.rank, lookup)
	if err != nil {
		return Place{}, err
	}
	world, worldFrom, err := rankValue(given.World, "--world", l.world, lookup)
	if err != nil {
		return Place{}, err
	}
	if world == nil {
		return Place{}, fmt.Errorf("--world: %s says that this is rank %d, but not of how many; add --world N, or --rank 0 --world 1 for a run of its own", rankFrom, *rank)
	}
	return Place{*rank, *world, rankFrom + " and " + worldFrom}.checked()
}

// rankValue returns a number from the flag, or else from the variable; nil if neither is set. It fails if they differ.
func rankValue(given *int, flag, variable string, lookup func(string) (string, bool)) (value *int, from string, err error) {
	text, ok := lookup(variable)
	if variable == "" || !ok || text == "" {
		return given, flag, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, "", fmt.Errorf("%s: %q is not a whole number of 0 or more; give --rank and --world", variable, shortenedVariable(text))
	}
	if given != nil && *given != n {
		return nil, "", fmt.Errorf("%s: %d, but %s is %d; give both --rank and --world if that is meant", flag, *given, variable, n)
	}
	return &n, variable, nil
}

// longestQuoted is the most of an environment variable that an error repeats, in bytes.
const longestQuoted = 32

func shortenedVariable(text string) string { return text[:min(len(text), longestQuoted)] }

// checked refuses an impossible rank.
func (p Place) checked() (Place, error) {
	switch {
	case p.World < 1 || p.World > MaxWorld:
		return Place{}, fmt.Errorf("--world: %d is not a number from 1 to %d (by %s)", p.World, MaxWorld, p.Source)
	case p.Rank < 0 || p.Rank >= p.World:
		return Place{}, fmt.Errorf("--rank: there is no rank %d in a world of %d (by %s); ranks count from 0", p.Rank, p.World, p.Source)
	}
	return p, nil
}
