package report

// figure is one picture with its words. It is drawn twice, for a desk and for a phone, because
// a drawing that is scaled down is one whose labels cannot be read.
type figure struct {
	Title   string
	Caption string
	Full    bool // as wide as the page; otherwise two stand side by side
	Desk    *chart
	Phone   *chart
	Legend  []legendItem
}

type legendItem struct{ Class, Text string }

// Sizes of the drawings.
const (
	halfWidth, fullWidth, phoneWidth = 500, 1040, 366
	halfHeight, fullHeight           = 230, 340
	phoneHeight                      = 250
)

// draw renders a figure in both sizes.
func draw(f figure, drawing func(width, height float64) *chart) figure {
	width, height := float64(halfWidth), float64(halfHeight)
	if f.Full {
		width, height = fullWidth, fullHeight
	}
	f.Desk, f.Phone = drawing(width, height), drawing(phoneWidth, phoneHeight)
	return f
}

// ticksFor is how many ticks an axis of that length bears.
func ticksFor(width float64) int { return max(4, int(width/90)) }
