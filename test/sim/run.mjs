/**
 * Entry point of `npm run sim`. Bundles the simulation first, because Node 20 does not run TypeScript. `main.ts`
 * describes the arguments.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createEnding } from '../support/command/ending.mjs'
import { bundleSimulation } from './bundle.mjs'

const ending = createEnding()
const out = await bundleSimulation(ending)
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
const threads = { worker: path.join(out, 'worker.js'), tracer: path.join(out, 'tracer.js') }
process.exitCode = await main(process.argv.slice(2), threads, ending)
