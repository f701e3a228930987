/**
 * The shim. Run `node main.js PERSONA` in addition to `turnbell daemon --persona PERSONA --surface mcp`. You write
 * `my-client.js`: its `connectClient` returns the client that `my-surface.js` expects.
 */
import { serveSurface } from 'turnbell/surface'
import { connectClient } from './my-client.js'
import { mySurface } from './my-surface.js'

const [persona] = process.argv.slice(2)
if (persona === undefined) {
  console.error('usage: node main.js PERSONA')
  process.exit(64)
}
try {
  const surface = mySurface(await connectClient(), Date.now())
  surface.open(serveSurface(surface, { persona }))
} catch (error) {
  // An error with a hint is an expected failure; anything else is a bug and is printed with its stack.
  console.error(error.hint === undefined ? error : `${error.message}\n${error.hint}`)
  process.exit(1)
}
