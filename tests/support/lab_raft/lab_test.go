package labraft

import (
	"flag"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seed      = flag.Int64("seed", 1, "the seed of delays and losses")
	immediate = flag.Bool("immediate", false, "let calls take no time")
	realTime  = flag.Bool("real", false, "let time pass, instead of leaping to what happens next")
)

const second = time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

// lab runs a test of a group, in the time of a bubble, where the clock leaps to what happens next.
func lab(t *testing.T, name string, n int, unreliable bool, run func(g *Group)) {
	test := func(t *testing.T) {
		started = time.Now()
		group := NewGroup(t, name, n, unreliable, *seed)
		defer group.end()
		run(group)
	}
	if *realTime {
		test(t)
	} else {
		synctest.Test(t, test)
	}
}

// ---- 3A: elections ----

func TestInitialElection3A(t *testing.T) {
	lab(t, "3A): initial election", 3, false, func(g *Group) {
		g.leader()
		time.Sleep(50 * time.Millisecond)
		before := g.term()
		time.Sleep(2 * second)
		if g.term() != before || before < 1 {
			t.Fatal("the term changed though nothing failed")
		}
		g.leader()
	})
}

func TestReElection3A(t *testing.T) {
	lab(t, "3A): election after network failure", 3, false, func(g *Group) {
		first := g.leader()
		g.disconnect(first)
		g.leader()
		g.connect(first)
		second := g.leader()
		g.disconnect(second)
		g.disconnect((second + 1) % 3)
		time.Sleep(2 * time.Second)
		g.noLeader()
		g.connect((second + 1) % 3)
		g.leader()
		g.connect(second)
		g.leader()
	})
}

func TestManyElections3A(t *testing.T) {
	lab(t, "3A): multiple elections", 7, false, func(g *Group) {
		g.leader()
		for range 8 {
			gone := g.random.Perm(7)[:3]
			for _, i := range gone {
				g.disconnect(i)
			}
			g.leader()
			for _, i := range gone {
				g.connect(i)
			}
		}
		g.leader()
	})
}

// ---- 3B: the log ----

func TestBasicAgree3B(t *testing.T) {
	lab(t, "3B): basic agreement", 3, false, func(g *Group) {
		for index := 1; index <= 4; index++ {
			if count, _ := g.committed(index); count > 0 {
				t.Fatal("applied before Start")
			}
			if at := g.one(index*100, 3, false); at != index {
				t.Fatalf("index %d instead of %d", at, index)
			}
		}
	})
}

func TestFailAgree3B(t *testing.T) {
	lab(t, "3B): agreement after follower reconnects", 3, false, func(g *Group) {
		g.one(101, 3, false)
		away := (g.leader() + 1) % 3
		g.disconnect(away)
		for command := 102; command < 106; command++ {
			g.one(command, 2, false)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(second)
		g.connect(away)
		g.one(106, 3, true)
		g.one(107, 3, true)
	})
}

func TestFailNoAgree3B(t *testing.T) {
	lab(t, "3B): no agreement if too many followers disconnect", 5, false, func(g *Group) {
		g.one(10, 5, false)
		leader := g.leader()
		for k := 1; k <= 3; k++ {
			g.disconnect((leader + k) % 5)
		}
		index, _, leads := g.raft(leader).Start(20)
		if !leads || index != 2 {
			t.Fatalf("the leader rejected a command, or put it at %d", index)
		}
		time.Sleep(2 * second)
		if count, _ := g.committed(index); count > 0 {
			t.Fatal("committed without a majority")
		}
		for k := 1; k <= 3; k++ {
			g.connect((leader + k) % 5)
		}
		g.leader()
		g.one(1000, 5, true)
	})
}

func TestConcurrentStarts3B(t *testing.T) {
	lab(t, "3B): concurrent Start()s", 3, false, func(g *Group) {
		leader := g.raft(g.leader())
		var group sync.WaitGroup
		for k := range 5 {
			group.Go(func() { leader.Start(100 + k) })
		}
		group.Wait()
		for index := 1; index <= 5; index++ {
			g.wait(index, 3)
		}
	})
}

func TestRejoin3B(t *testing.T) {
	lab(t, "3B): rejoin of partitioned leader", 3, false, func(g *Group) {
		g.one(101, 3, true)
		first := g.leader()
		g.disconnect(first)
		for command := 102; command <= 104; command++ {
			g.raft(first).Start(command)
		}
		g.one(103, 2, true)
		second := g.leader()
		g.disconnect(second)
		g.connect(first)
		g.one(104, 2, true)
		g.connect(second)
		g.one(105, 3, true)
	})
}

func TestBackup3B(t *testing.T) {
	lab(t, "3B): leader backs up quickly over incorrect follower logs", 5, false, func(g *Group) {
		g.one("first", 5, true)
		leader := g.leader()
		for k := 2; k <= 4; k++ {
			g.disconnect((leader + k) % 5)
		}
		for k := range 20 {
			g.raft(leader).Start(1000 + k)
		}
		time.Sleep(500 * time.Millisecond)
		g.disconnect(leader)
		g.disconnect((leader + 1) % 5)
		for k := 2; k <= 4; k++ {
			g.connect((leader + k) % 5)
		}
		for k := range 10 {
			g.one(2000+k, 3, true)
		}
		other := g.leader()
		away := (leader + 2) % 5
		if away == other {
			away = (leader + 3) % 5
		}
		g.disconnect(away)
		for k := range 20 {
			g.raft(other).Start(3000 + k)
		}
		time.Sleep(500 * time.Millisecond)
		for i := range 5 {
			g.disconnect(i)
		}
		g.connect(leader)
		g.connect((leader + 1) % 5)
		g.connect(away)
		for k := range 10 {
			g.one(4000+k, 3, true)
		}
		for i := range 5 {
			g.connect(i)
		}
		g.one("last", 5, true)
	})
}

// ---- 3C: persistence ----

func TestPersist3C(t *testing.T) {
	lab(t, "3C): basic persistence", 3, false, func(g *Group) {
		g.one(11, 3, true)
		for i := range 3 {
			g.start(i)
		}
		for i := range 3 {
			g.connect(i)
		}
		g.one(12, 3, true)
		leader := g.leader()
		g.start(leader)
		g.connect(leader)
		g.one(13, 3, true)
		leader = g.leader()
		g.disconnect(leader)
		g.one(14, 2, true)
		g.start(leader)
		g.connect(leader)
		g.wait(4, 3)
		away := (g.leader() + 1) % 3
		g.crash(away)
		g.one(15, 2, true)
		g.start(away)
		g.connect(away)
		g.one(16, 3, true)
	})
}

func TestMorePersist3C(t *testing.T) {
	lab(t, "3C): more persistence", 5, false, func(g *Group) {
		for round := range 4 {
			g.one(10+round, 5, true)
			leader := g.leader()
			g.crash((leader + 1) % 5)
			g.crash((leader + 2) % 5)
			g.one(20+round, 3, true)
			for k := range 5 {
				if k != 1 && k != 2 {
					g.crash((leader + k) % 5)
				}
			}
			g.start((leader + 1) % 5)
			g.start((leader + 2) % 5)
			g.connect((leader + 1) % 5)
			g.connect((leader + 2) % 5)
			time.Sleep(second)
			g.start((leader + 3) % 5)
			g.connect((leader + 3) % 5)
			g.one(30+round, 3, true)
			for _, k := range []int{0, 4} {
				g.start((leader + k) % 5)
				g.connect((leader + k) % 5)
			}
		}
		g.one(1000, 5, true)
	})
}

func figure8(g *Group, rounds int) {
	g.one("first", 1, true)
	up := g.n
	for round := range rounds {
		leader := -1
		for i := range g.n {
			if raft := g.raft(i); raft != nil {
				if _, _, leads := raft.Start(round); leads {
					leader = i
				}
			}
		}
		if g.random.Intn(10) == 0 {
			time.Sleep(time.Duration(g.random.Intn(500)) * time.Millisecond)
		} else {
			time.Sleep(time.Duration(g.random.Intn(13)) * time.Millisecond)
		}
		if leader >= 0 && g.random.Intn(4) > 0 {
			g.crash(leader)
			up--
		}
		if up < g.n/2+1 {
			if i := g.random.Intn(g.n); g.raft(i) == nil {
				g.start(i)
				g.connect(i)
				up++
			}
		}
	}
	for i := range g.n {
		if g.raft(i) == nil {
			g.start(i)
			g.connect(i)
		}
	}
	g.one("last", g.n, true)
}

func TestFigure8(t *testing.T) {
	lab(t, "3C): Figure 8", 5, false, func(g *Group) { figure8(g, 400) })
}

func TestUnreliableAgree3C(t *testing.T) {
	lab(t, "3C): unreliable agreement", 5, true, func(g *Group) {
		var group sync.WaitGroup
		for round := 1; round < 20; round++ {
			for k := range 4 {
				group.Go(func() { g.one(100*round+k, 1, true) })
			}
			g.one(round, 1, true)
		}
		g.network.unreliable = false
		group.Wait()
		g.one(10000, 5, true)
	})
}

func TestFigure8Unreliable3C(t *testing.T) {
	lab(t, "3C): Figure 8 (unreliable)", 5, true, func(g *Group) {
		g.one("first", 1, true)
		up := 5
		for round := range 200 {
			if round == 80 {
				g.network.reordering = true
			}
			leader := -1
			for i := range 5 {
				if _, _, leads := g.raft(i).Start(round); leads && g.isConnected(i) {
					leader = i
				}
			}
			if g.random.Intn(10) == 0 {
				time.Sleep(time.Duration(g.random.Intn(500)) * time.Millisecond)
			} else {
				time.Sleep(time.Duration(g.random.Intn(13)) * time.Millisecond)
			}
			if leader >= 0 && g.random.Intn(2) == 0 {
				g.disconnect(leader)
				up--
			}
			if up < 3 {
				if i := g.random.Intn(5); !g.isConnected(i) {
					g.connect(i)
					up++
				}
			}
		}
		for i := range 5 {
			g.connect(i)
		}
		g.one("last", 5, true)
	})
}

func TestChurn3C(t *testing.T) {
	lab(t, "3C): churn", 5, true, func(g *Group) {
		for round := range 15 {
			g.one(round, 1, true)
			if g.random.Intn(10) < 2 {
				g.disconnect(g.random.Intn(5))
			}
			if i := g.random.Intn(5); g.random.Intn(10) < 5 {
				if g.raft(i) == nil {
					g.start(i)
				}
				g.connect(i)
			}
			if g.random.Intn(10) < 2 {
				if i := g.random.Intn(5); g.raft(i) != nil {
					g.crash(i)
				}
			}
			time.Sleep(150 * time.Millisecond)
			for up := 0; up < 3; {
				up = 0
				for i := range 5 {
					if g.isConnected(i) {
						up++
					}
				}
				if i := g.random.Intn(5); up < 3 {
					if g.raft(i) == nil {
						g.start(i)
					}
					g.connect(i)
				}
			}
		}
		g.network.unreliable = false
		for i := range 5 {
			if g.raft(i) == nil {
				g.start(i)
			}
			g.connect(i)
		}
		g.one("last", 5, true)
	})
}

// The course has no such test: servers die at any moment, and come back.
func TestRestarts3C(t *testing.T) {
	lab(t, "3C): restarts at any time", 5, false, func(g *Group) {
		for round := range 120 {
			for i := range 5 {
				g.raft(i).Start(round)
			}
			time.Sleep(time.Duration(g.random.Intn(120)) * time.Millisecond)
			i := g.random.Intn(5)
			g.start(i)
			g.connect(i)
		}
		g.one("last", 5, true)
	})
}
