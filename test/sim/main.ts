import { run } from './run.ts'
const [seed = '1', steps = '200', count = '1'] = process.argv.slice(2)
process.on('unhandledRejection', (error) => {
  console.error('unhandled', error)
  process.exit(2)
})
let failed = 0
const started = performance.now()
for (let n = 0; n < Number(count); n++) {
  const t = performance.now()
  const result = await run({
    seed: Number(seed) + n,
    steps: Number(steps),
    onStep:
      count === '1' && process.env.V ? (step, action, now) => console.log(step, action, now) : undefined,
  })
  if (result.broken || count === '1')
    console.log(
      result.seed,
      JSON.stringify(result.broken ?? result.counts),
      `${(performance.now() - t).toFixed(0)} ms`,
    )
  if (result.broken) failed++
}
console.log(`${failed} failed of ${count}, ${((performance.now() - started) / 1000).toFixed(1)} s`)
