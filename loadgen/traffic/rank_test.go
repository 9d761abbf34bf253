package traffic

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// environment looks names up in a map.
func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func given(rank, world int) RankFlags {
	g := RankFlags{}
	if rank >= 0 {
		g.Rank = &rank
	}
	if world >= 0 {
		g.World = &world
	}
	return g
}

func TestEveryRequestFallsToOneRankAndSharesDifferByOneAtMost(t *testing.T) {
	for world := 1; world <= 9; world++ {
		for n := range 40 {
			sum, least, most := 0, n, 0
			for r := range world {
				p := Place{Rank: r, World: world}
				taken := 0
				for i := range n {
					if p.Takes(i) {
						taken++
					}
				}
				if share := p.Share(n); share != taken {
					t.Errorf("%v of %d: a share of %d, and %d are taken", p, n, share, taken)
				}
				sum, least, most = sum+taken, min(least, taken), max(most, taken)
			}
			if sum != n || most-least > 1 {
				t.Errorf("%d over %d ranks: %d in all, %d to %d each", n, world, sum, least, most)
			}
		}
	}
}

func TestOneProcessHasTheWholeLoadAndItsName(t *testing.T) {
	for _, p := range []Place{{}, {World: 1}} {
		if !p.Alone() || !p.Takes(7) || p.Share(5) != 5 || p.Run("a") != "a" {
			t.Errorf("%+v does not send everything under the run's own name", p)
		}
	}
	if name := (Place{Rank: 2, World: 4}).Run("a"); name != "a-rank2of4" {
		t.Errorf("a rank is called %s", name)
	}
}

func TestThePlaceComesFromTheFlagsOrTheFirstLauncher(t *testing.T) {
	slurm := map[string]string{"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}
	both := map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
	for _, c := range []struct {
		name  string
		given RankFlags
		env   map[string]string
		want  Place
	}{
		{"nothing", given(-1, -1), nil, Place{World: 1}},
		{"a world of one", given(-1, 1), nil, Place{World: 1}},
		{"flags", given(2, 4), nil, Place{2, 4, "--rank and --world"}},
		{"flags over the environment", given(0, 1), slurm, Place{0, 1, "--rank and --world"}},
		{"Slurm", given(-1, -1), slurm, Place{3, 8, "SLURM_PROCID and SLURM_NTASKS"}},
		{"MPICH", given(-1, -1), map[string]string{"PMI_RANK": "0", "PMI_SIZE": "2"}, Place{0, 2, "PMI_RANK and PMI_SIZE"}},
		{"mpirun within Slurm", given(-1, -1), both, Place{1, 2, "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"}},
		{"Kubernetes with its world", given(-1, 5), map[string]string{"JOB_COMPLETION_INDEX": "4"}, Place{4, 5, "JOB_COMPLETION_INDEX and --world"}},
		{"the same said twice", given(3, -1), slurm, Place{3, 8, "SLURM_PROCID and SLURM_NTASKS"}},
		{"variables that are there and empty", given(-1, -1), map[string]string{"PMI_RANK": "", "SLURM_PROCID": ""}, Place{World: 1}},
	} {
		if got, err := FindRank(c.given, environment(c.env)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestAPlaceThatCannotBeIsRefusedByTheNameOfWhatSaidSo(t *testing.T) {
	for _, c := range []struct {
		name  string
		given RankFlags
		env   map[string]string
		says  string
	}{
		{"rank alone", given(1, -1), nil, "--world"},
		{"world alone", given(-1, 4), nil, "JOB_COMPLETION_INDEX"},
		{"rank beyond the world", given(4, 4), nil, "no rank 4 in a world of 4"},
		{"no world at all", given(0, 0), nil, "--world: 0"},
		{"a huge world", given(0, MaxWorld+1), nil, "--world: 100001"},
		{"a rank of an unknown world", given(-1, -1), map[string]string{"JOB_COMPLETION_INDEX": "0"}, "JOB_COMPLETION_INDEX says that this is rank 0"},
		{"garbage", given(-1, -1), map[string]string{"PMI_RANK": "x\x1b[2J", "PMI_SIZE": "2"}, "PMI_RANK"},
		{"negative", given(-1, -1), map[string]string{"SLURM_PROCID": "-1", "SLURM_NTASKS": "2"}, "SLURM_PROCID"},
		{"beyond the variable's world", given(-1, -1), map[string]string{"SLURM_PROCID": "2", "SLURM_NTASKS": "2"}, "SLURM_PROCID and SLURM_NTASKS"},
		{"another world than the launcher's", given(-1, 4), map[string]string{"SLURM_PROCID": "2", "SLURM_NTASKS": "8"}, "SLURM_NTASKS is 8"},
	} {
		got, err := FindRank(c.given, environment(c.env))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("%s: %+v, %v, want an error with %q", c.name, got, err, c.says)
		}
	}
}

func FuzzFindGivesAPlaceWithinItsWorldOrAnError(f *testing.F) {
	f.Add("0", "1", uint8(0), -1, -1)
	f.Add("-1", "4", uint8(1), -1, -1)
	f.Add("4", "4", uint8(2), -1, -1)
	f.Add("x", "99999999999999999999", uint8(2), 0, -1)
	f.Add("3", "", uint8(3), -1, 4)
	f.Add("+1", " 2", uint8(0), -1, 2)
	f.Fuzz(func(t *testing.T, rank, world string, which uint8, flagRank, flagWorld int) {
		l := launchers()[int(which)%len(launchers())]
		env := map[string]string{l.rank: rank}
		if l.world != "" {
			env[l.world] = world
		}
		p, err := FindRank(given(flagRank, flagWorld), environment(env))
		if err != nil {
			if len(err.Error()) > 400 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if p.World < 1 || p.World > MaxWorld || p.Rank < 0 || p.Rank >= p.World {
			t.Fatalf("%+v of %v", p, env)
		}
		if flagRank >= 0 && p.Rank != flagRank && p.World > 1 || flagWorld >= 0 && p.World != flagWorld {
			t.Fatalf("%+v, and the flags say %d of %d", p, flagRank, flagWorld)
		}
		// What was read is what the variables say, digit by digit.
		if n, err := strconv.Atoi(rank); flagRank < 0 && !p.Alone() && (err != nil || n != p.Rank) {
			t.Fatalf("%+v of %q", p, rank)
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(env)), func(name string) bool { return strings.Contains(p.Source, name) }) && p.Source != "" && p.Source != "--rank and --world" {
			t.Fatalf("%+v does not name where it is from", p)
		}
	})
}
