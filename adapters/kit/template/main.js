/**
 * The shim: `node main.js PERSONA` beside `turnbell daemon --persona PERSONA --surface mcp`. `my-client.js` is
 * yours: its `connectClient` gives what `my-surface.js` asks of a client.
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
  // What says how to mend it is a refusal; anything else is a bug, and worth its stack.
  console.error(error.hint === undefined ? error : `${error.message}\n${error.hint}`)
  process.exit(1)
}
