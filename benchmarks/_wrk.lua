-- Sends the requests of a file in turn: a line names the operation, or the path of a service, the next line is its body.
-- A path without a body is a GET.
-- They are put together before the clock starts, so that what is measured is the server.

wrk.headers["Content-Type"] = "application/x-amz-json-1.0"
wrk.headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, "
  .. "SignedHeaders=host, Signature=x"
wrk.headers["X-Amz-Date"] = "20260101T000000Z"

local requests, sent = {}, 0

function init(args)
  local operation
  local pause = tonumber(args[2] or 0)
  if pause > 0 then
    function delay() return pause end
  end
  for line in io.lines(args[1]) do
    if operation and operation:sub(1, 1) == "/" and line == "" then
      requests[#requests + 1] = wrk.format("GET", operation, {["Accept"] = "application/json"})
      operation = nil
    elseif operation and operation:sub(1, 1) == "/" then
      requests[#requests + 1] = wrk.format("POST", operation, {["Content-Type"] = "application/json"}, line)
      operation = nil
    elseif operation then
      wrk.headers["X-Amz-Target"] = "DynamoDB_20120810." .. operation
      requests[#requests + 1] = wrk.format("POST", "/", wrk.headers, line)
      operation = nil
    else
      operation = line
    end
  end
end

function request()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end

-- wrk counts an answer as a status error from 400 on.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"rejected":%d,"broken":%d,"p95":%f}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(95) / 1e3))
end
