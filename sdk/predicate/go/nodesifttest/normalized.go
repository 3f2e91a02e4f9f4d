package nodesifttest

import nodesift "github.com/nodesift/nodesift/sdk/predicate/go"

// maxScore is the largest score of a node by one scorer.
const maxScore = 100

// normalized gives the scores that the host makes of raw scores; 0 for one that is none. Sums and products wrap, as there.
func normalized(normalization nodesift.Normalization, raw []int64) []int64 {
	score := formula(normalization, raw)
	scores := make([]int64, len(raw))
	for row, given := range raw {
		if given != nodesift.NoScore {
			scores[row] = score(given)
		}
	}
	return scores
}

// formula gives the score of one of these raw scores.
func formula(normalization nodesift.Normalization, raw []int64) func(int64) int64 {
	lowest, highest := bounds(raw)
	switch normalization {
	case nodesift.NormalizeByLargest:
		if highest > 0 {
			return func(raw int64) int64 { return maxScore * raw / highest }
		}
	case nodesift.NormalizeByLargestReversed:
		if highest > 0 {
			return func(raw int64) int64 { return maxScore - maxScore*raw/highest }
		}
		return func(int64) int64 { return maxScore }
	case nodesift.NormalizeByRange:
		if span := highest - lowest; span > 0 {
			// In this order: 29 of 100 is 28, which exact arithmetic would make 29.
			return func(raw int64) int64 { return int64(maxScore * (float64(raw-lowest) / float64(span))) }
		}
		return func(int64) int64 { return 0 }
	case nodesift.NormalizeByDistance:
		if highest > 0 {
			return func(raw int64) int64 { return maxScore * (highest + lowest - raw) / highest }
		}
		return func(int64) int64 { return maxScore }
	}
	return func(raw int64) int64 { return raw }
}

// bounds gives the smallest and the largest raw score; 0 where there is none.
func bounds(raw []int64) (lowest, highest int64) {
	isFirst := true
	for _, score := range raw {
		if score == nodesift.NoScore {
			continue
		}
		if isFirst {
			lowest, highest, isFirst = score, score, false
		}
		lowest, highest = min(lowest, score), max(highest, score)
	}
	return lowest, highest
}
