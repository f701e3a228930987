/** `npm run sim`: Node 20 runs no TypeScript, so the simulation is bundled first. See `main.ts` for what it takes. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createEnding } from '../support/ending.mjs'
import { bundleSimulation } from './bundle.mjs'

const ending = createEnding()
const out = await bundleSimulation(ending)
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
const threads = { worker: path.join(out, 'worker.js'), tracer: path.join(out, 'tracer.js') }
process.exitCode = await main(process.argv.slice(2), threads, ending)
