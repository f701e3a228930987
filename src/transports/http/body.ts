/** Reads the body of a request as text. */
import type { IncomingMessage } from 'node:http'
import { TurnbellError } from '../../contracts/errors/errors.ts'

/** Throws `body_too_large` beyond `bytes_max`, and `request_invalid` if the client disconnects before the end. */
export function readBody(request: IncomingMessage, bytes_max: number): Promise<string> {
  const tooLarge = () =>
    new TurnbellError('body_too_large', { detail: `The body is over ${bytes_max} bytes.` })
  if (Number(request.headers['content-length'] ?? 0) > bytes_max) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytes_max) chunks.push(chunk)
      else {
        request.pause()
        reject(tooLarge())
      }
    })
    request.on('end', () =>
      resolve((chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString('utf8')),
    )
    request.on('error', (error) =>
      reject(
        new TurnbellError('request_invalid', { detail: 'The body did not arrive completely.', cause: error }),
      ),
    )
  })
}
