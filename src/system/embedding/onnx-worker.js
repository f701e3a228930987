/**
 * Runs a network in a worker thread, because the runtime computes synchronously and would block the hub. JavaScript,
 * because Node.js runs this file directly, also in a checkout.
 *
 * Input: `{ id, feeds, output }`, with each feed as `{ data, dims }` of int64. Output: first `{ inputs, outputs }` or
 * `{ failed }`, then for each input `{ id, data, dims }` or `{ id, failed }`.
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
      // A copy, because the runtime may reuse its buffer.
      const own = Float32Array.from(data)
      say({ id, data: own, dims: [...dims] }, [own.buffer])
    } catch (error) {
      say({ id, failed: String(error?.message ?? error) })
    }
  })
  say({ inputs: [...session.inputNames], outputs: [...session.outputNames] })
}

open().catch((error) => say({ failed: String(error?.message ?? error) }))
