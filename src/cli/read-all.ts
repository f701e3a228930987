import { TurnbellError } from '../contracts/turnbell-error.ts'

/** All of a stream as text, at most `bytes_max` bytes: more is a usage error, not a memory problem. */
export async function readAll(stream: NodeJS.ReadableStream, bytes_max: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    size += bytes.length
    if (size > bytes_max) {
      throw new TurnbellError('usage_invalid', {
        detail: `stdin holds more than ${bytes_max} bytes`,
        hint: 'Write the content to a file and send where it is.',
      })
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}
