/** The beginning of a file of a project, for whoever was told its name. */
import fs from 'node:fs/promises'
import path from 'node:path'
import { codeOf } from './disk.ts'

/** The last two are said of a name that no file can have. */
const NO_FILE = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']

/** Nothing outside of the root is read, whatever the name or a link on the way says. */
export async function readProjectText(
  root: string,
  name: string,
  bytes_max: number,
): Promise<{ text: string; truncated: boolean } | { reason: string }> {
  try {
    const top = await fs.realpath(root)
    const file = await fs.realpath(path.resolve(top, name))
    if (file !== top && !file.startsWith(`${top}${path.sep}`))
      return { reason: 'it lies outside of the project' }
    if (!(await fs.stat(file)).isFile()) return { reason: 'it is no file' }
    return await beginningOf(file, bytes_max)
  } catch (error) {
    const code = codeOf(error)
    if (NO_FILE.includes(code ?? '')) return { reason: 'there is no such file' }
    if (code === 'EACCES' || code === 'EPERM' || code === 'ELOOP') return { reason: 'it may not be read' }
    throw error
  }
}

async function beginningOf(file: string, bytes_max: number): Promise<{ text: string; truncated: boolean }> {
  const handle = await fs.open(file)
  try {
    // One byte more tells whether it goes on; what is half a character at the end is left out by the decoder.
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes_max + 1), 0, bytes_max + 1, 0)
    const truncated = bytesRead > bytes_max
    const bytes = buffer.subarray(0, Math.min(bytesRead, bytes_max))
    return { text: new TextDecoder().decode(bytes, { stream: truncated }), truncated }
  } finally {
    await handle.close()
  }
}
