from partstream import Finish, StreamReader, Unmapped

SENT = (
    b'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}\n\n',
    b'data: {"type":"response.news","words":"new"}\n\ndata: {"type":"response.comp',
    b'leted","response":{"id":"r1","status":"completed","output":[]}}\n\n',
)

reader = StreamReader()
for chunk in (*SENT, None):
    for output in reader.end() if chunk is None else reader.feed(chunk):
        match output:
            case Finish():
                print(output.outcome, output.response_id)
            case Unmapped():
                print("no part:", output.type)
            case part:
                print("part:", part)
