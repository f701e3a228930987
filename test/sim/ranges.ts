/** Parses and prints whole numbers in ranges: steps and seeds. */

/** Larger than any run, and small enough that a mistyped number does not exhaust memory. */
const NUMBER_MAX = 10_000_000

/** Formats ascending numbers as `1,4-7`. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

/** Throws for input that `rangesOf` does not produce, and for numbers above `most`. */
export function numbersIn(text: string, most = NUMBER_MAX): number[] {
  return text.split(',').flatMap((range) => {
    const [, from, to] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? []
    if (from === undefined) throw new Error(`${JSON.stringify(range)} is no range of numbers`)
    const last = Number(to ?? from)
    if (last > most) throw new Error(`${JSON.stringify(range)} goes beyond ${most}`)
    if (last < Number(from)) throw new Error(`${JSON.stringify(range)} ends before it begins`)
    return Array.from({ length: last - Number(from) + 1 }, (_, more) => Number(from) + more)
  })
}
