/**
 * Runs a network on a thread of its own: the runtime computes where it is called, and a hub that computes
 * answers nobody. Node starts this file as it stands, in a checkout too, so it is no TypeScript.
 *
 * In: `{ id, feeds, output }`, with each feed as `{ data, dims }` of int64. Out: first `{ inputs, outputs }`
 * or `{ failed }`, then for each `{ id, data, dims }` or `{ id, failed }`.
 */
import { parentPort, workerData } from 'node:worker_threads'

const say = (message, transfer) => parentPort.postMessage(message, transfer)

async function open() {
  const loaded = await import(workerData.runtime)
  const runtime = loaded.InferenceSession === undefined ? loaded.default : loaded
  const session = await runtime.InferenceSession.create(workerData.network, { logSeverityLevel: 3 })
  parentPort.on('message', async ({ id, feeds, output }) => {
    try {
      const tensors = Object.entries(feeds).map(([name, { data, dims }]) => [
        name,
        new runtime.Tensor('int64', data, dims),
      ])
      const { data, dims } = (await session.run(Object.fromEntries(tensors), [output]))[output]
      // A copy: the runtime may keep its own.
      const own = Float32Array.from(data)
      say({ id, data: own, dims: [...dims] }, [own.buffer])
    } catch (error) {
      say({ id, failed: String(error?.message ?? error) })
    }
  })
  say({ inputs: [...session.inputNames], outputs: [...session.outputNames] })
}

open().catch((error) => say({ failed: String(error?.message ?? error) }))
