/**
 * The shim: `node main.js PERSONA` beside `turnbell daemon --persona PERSONA --surface mcp`. `my-client.js` is
 * yours: its `connectClient` gives what `my-surface.js` asks of a client.
 */
import { serveSurface } from 'turnbell/surface'
import { connectClient } from './my-client.js'
import { mySurface } from './my-surface.js'

const [persona = ''] = process.argv.slice(2)
const surface = mySurface(await connectClient(), Date.now())
surface.open(serveSurface(surface, { persona }))
