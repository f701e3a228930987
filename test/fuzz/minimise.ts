/**
 * Removes parts of an input that its failure does not need: halves, quarters and so on down to bytes (A. Zeller and R.
 * Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002), within `tries` attempts.
 */
export async function minimise(
  input: Buffer,
  fails: (input: Buffer) => Promise<boolean>,
  tries = 300,
): Promise<Buffer> {
  let left = tries
  let smallest = input
  let size = Math.ceil(smallest.length / 2)
  while (size > 0 && left > 0) {
    let shrunk = false
    for (let at = 0; at < smallest.length && left > 0; at += size) {
      const less = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
      left -= 1
      if (!(await fails(less))) continue
      smallest = less
      at -= size
      shrunk = true
    }
    if (!shrunk || size > smallest.length) size = Math.floor(Math.min(size, smallest.length) / 2)
  }
  return smallest
}
